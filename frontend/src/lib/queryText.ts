/** Places in the text of a query, and what is wrong there: the service counts characters, the browser halves of some. */
import type { ApiError } from "../api/errors";
import { isTextKey, t } from "../i18n/index.svelte";

/** What is wrong with a query in the reader's language; what has no text there as the service says it. */
export function wrongText(problem: ApiError): string {
  const { problem: name, values } = problem.extra;
  const key = `lists.wrong.${String(name)}`;
  if (problem.code !== "invalid_query" || !isTextKey(key)) return problem.message;
  return t(key, typeof values === "object" ? (values as Record<string, string | number>) : {});
}

/** A text in three parts, of which the middle one lies between two places of the service. */
export function partsAt(text: string, at: number, end: number): readonly [string, string, string] {
  const letters = Array.from(text);
  return [letters.slice(0, at).join(""), letters.slice(at, end).join(""), letters.slice(end).join("")];
}

/** The service's place of a caret. */
export const placeOf = (text: string, caret: number): number => Array.from(text.slice(0, caret)).length;

/** The text with an option in it, and the caret behind that. What follows a whole option stands apart from it. */
export function withOption(
  text: string,
  at: number,
  end: number,
  option: string,
): { readonly text: string; readonly caret: number } {
  const [before, , after] = partsAt(text, at, end);
  const rest = option.endsWith(" ") && after.startsWith(" ") ? after.slice(1) : after;
  return { text: before + option + rest, caret: (before + option).length };
}
