import { expect, it, vi } from "vitest";
import { asker } from "./ask";

it("gives an answer to nobody who has gone meanwhile, and asks no more", async () => {
  const answers: ((answer: number) => void)[] = [];
  const taken: number[] = [];
  const { ask, stop } = asker(
    () => new Promise<number>((resolve) => answers.push(resolve)),
    (answer) => void taken.push(answer),
  );
  ask();
  answers[0]?.(1);
  await vi.waitFor(() => expect(taken).toEqual([1]));
  await Promise.resolve();
  ask();
  ask();
  await vi.waitFor(() => expect(answers).toHaveLength(2));
  stop();
  answers[1]?.(2);
  await new Promise((resolve) => setTimeout(resolve));
  ask();
  expect([taken, answers.length]).toEqual([[1], 2]);
});
