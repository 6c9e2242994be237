/** Addresses of what the service gives as files, for links; nothing here asks it. */
import type { ListFilter } from "../contract/api.gen";
import type { ListName } from "./client";

/** One attempt with its whole matrix. */
export const attemptFile = (id: number, seq: number) => `/api/clusters/${id}/attempts/${seq}?limit=10000`;

/** All history, or one moment of it (a position); with names or with others in their place. */
export const historyFile = (id: number, moment = "", names: "anonymised" | "" = "") => {
  const query = new URLSearchParams({
    ...(moment && { from: moment, to: moment }),
    ...(names && { anonymise: "true" }),
  });
  return `/api/clusters/${id}/history/export${query.size ? `?${query}` : ""}`;
};

/** A list as it is filtered and sorted. */
export const listFile = (id: number, what: ListName, form: "csv" | "json", query: ListFilter & { columns: string }) =>
  `/api/clusters/${id}/lists/${what}/export.${form}?${new URLSearchParams(Object.entries(query))}`;
