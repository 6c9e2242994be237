import { expect, test } from "vitest";
import { unlessGone } from "./unlessGone";

test("an answer and a failure are heard until the end, and not after it", async () => {
  const heard: string[] = [];
  const take = (answer: string) => heard.push(answer);
  const fail = (message: string) => heard.push(`failed: ${message}`);
  unlessGone(Promise.resolve("first"), take, fail);
  unlessGone(Promise.resolve("too late"), take, fail)();
  unlessGone(Promise.reject(new Error("no")), take, fail);
  unlessGone(Promise.reject(new Error("too late")), take, fail)();
  await new Promise((resolve) => setTimeout(resolve));
  expect(heard).toEqual(["first", "failed: no"]);
});
