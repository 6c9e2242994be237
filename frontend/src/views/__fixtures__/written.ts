/** Sentences as tests read them. */
import type { Sentence } from "../../lib/amounts";

/** Nodes in brackets, other links with their address. */
export const written = (sentence: Sentence): string =>
  sentence
    .map((part) =>
      "node" in part
        ? `[${part.node}]`
        : "pod" in part
          ? part.pod
          : part.href
            ? `${part.text}<${part.href}>`
            : part.text,
    )
    .join("");
