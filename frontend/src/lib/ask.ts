/**
 * Asks again whenever it is told to, one question at a time: what comes while an answer is awaited is asked once, after
 * a pause. So a slow answer is shown rather than thrown away for a newer question.
 *
 * `take` and `fail` are not called any more after `stop`: who asked has gone, and what it would read is no longer kept.
 */
const PAUSE_MS = 400;

export function asker<Answer>(
  question: () => Promise<Answer>,
  take: (answer: Answer) => void,
  fail: (error: unknown) => void = () => undefined,
  pauseMs = PAUSE_MS,
): { ask: () => void; stop: () => void } {
  let busy = false;
  let again = false;
  let stopped = false;
  async function run(): Promise<void> {
    busy = true;
    do {
      again = false;
      await question().then(
        (answer) => stopped || take(answer),
        (error: unknown) => stopped || fail(error),
      );
      if (again && !stopped) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    } while (again && !stopped);
    busy = false;
  }
  return {
    ask: () => {
      if (busy) again = true;
      else if (!stopped) void run();
    },
    stop: () => {
      stopped = true;
    },
  };
}
