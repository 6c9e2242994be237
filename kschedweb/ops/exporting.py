"""`./ksched export`: history of a cluster of the running service, or a moment of it, as one file."""

import argparse
import sys
import urllib.parse
from pathlib import Path

from kschedweb.ops.client import Refused, cluster_id, connect


def export(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Write the file, which is there only when it is whole; 1 when the service does not give it."""
    if options.at is not None and (options.first is not None or options.last is not None):
        print("ksched: --at is one moment: give either it or --from and --to", file=sys.stderr)
        return 2
    span = {"from": options.first or options.at, "to": options.last or options.at}
    span |= {"anonymise": "true"} if options.anonymise else {}
    query = urllib.parse.urlencode({name: said for name, said in span.items() if said is not None})
    unfinished = options.out.with_name(f"{options.out.name}.part")
    try:
        client = connect(data_dir)
        cluster = cluster_id(client, options.cluster)
        with unfinished.open("wb") as file:
            size = client.download(f"/api/clusters/{cluster}/history/export{'?' if query else ''}{query}", file)
        unfinished.replace(options.out)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        print(f"ksched: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except Refused as refusal:
        unfinished.unlink(missing_ok=True)
        print(f"ksched: {refusal}", file=sys.stderr)
        return 1
    print(f"{options.out}: {size:,} bytes; open it with `./ksched import {options.out}`")
    return 0
