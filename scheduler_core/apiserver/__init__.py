"""What the API server does to objects, without a database, a clock or a socket: rules over a store.

For an HTTP shell. It decodes a request, asks, and encodes the answer:

    server = ApiServer(store, new_uid, is_simulated=False)       store: History, see `store`
    server.carry_out(bootstrap_requests(now), now)               once for a new cluster: `bootstrap`
    body = read_json(data)                                       a body with fields that stand twice: `bodies`
    reply = answer(server, Call(method, path, query, body, patch_type), now)                    `calls`

What the shell does with the answer:

- `Reply`: it writes `code` and `body`, a Warning header `299 - "…"` for each of `warnings`, and Retry-After if set.
- `Reply` with `page`, a list: as a Table it is `tables.table_of_page(kind, page, now, include)`, as metadata
  `tables.metadata_of_page(page)`.
- `Reply` with `stored`, an object: `tables.table_of_object(stored, now, include)`, `tables.metadata_of_object(stored)`.
- `Watch`: it streams `initial`, then `events(store.logged_after(kind, watch.position))` as the log grows, and
  `bookmark(position)` now and then.

`path` begins below the cluster (`/api/v1/…`), `query` has a list of texts for each name. Left to the shell are media
types (415, 406, YAML, tables), malformed bodies, users (401, 403), discovery, OpenAPI, `pods/log`, `exec`, `attach`,
`portforward` and `proxy`, and server-side apply. `routes.route(path)` says what a path names; `api.schema` has every
field of every kind with its type, merge key and how apply treats it.

For everybody else, `ApiServer.carry_out(requests, now)` takes the requests of `requests`; `is_simulated` (the default)
is for clusters in which nothing runs, see `AdmissionContext`.
"""
