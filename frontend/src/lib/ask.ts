/**
 * Asks again whenever it is told to, one question at a time: what comes while an answer is awaited is asked once, after
 * a pause. So a slow answer is shown rather than thrown away for a newer question.
 */
const PAUSE_MS = 400;

export function asker(question: () => Promise<void>): { ask: () => void; stop: () => void } {
  let busy = false;
  let again = false;
  let stopped = false;
  async function run(): Promise<void> {
    busy = true;
    do {
      again = false;
      await question();
      if (again && !stopped) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    } while (again && !stopped);
    busy = false;
  }
  return {
    ask: () => {
      if (busy) again = true;
      else void run();
    },
    stop: () => {
      stopped = true;
    },
  };
}
