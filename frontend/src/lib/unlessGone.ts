/** Takes an answer, or the words of a failure, unless the returned function was called before: an effect's end. */
export function unlessGone<T>(
  answer: Promise<T>,
  take: (answer: T) => void,
  fail: (message: string) => void = () => undefined,
): () => void {
  let gone = false;
  answer.then(
    (found) => {
      if (!gone) take(found);
    },
    (error: unknown) => {
      if (!gone) fail(error instanceof Error ? error.message : String(error));
    },
  );
  return () => {
    gone = true;
  };
}
