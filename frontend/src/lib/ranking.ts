/**
 * How well a word matches a name, for what only the browser knows: the rule is `kschedweb/common/ranking.py`, and
 * `ranking.cases.json` holds both to the same answers.
 */

export const HOWS = ["exact", "start", "word", "inside", "parts"] as const;
export type How = (typeof HOWS)[number];

/** Start and end of what matches, in characters. */
export type Marks = readonly (readonly [number, number])[];

export interface Match {
  readonly how: How;
  readonly marks: Marks;
}

const SEPARATORS = "-./:_ ";
const LONGEST_ABBREVIATION = 16;

/** In lower case, character by character: places stay what they are. */
function folded(text: string): string[] {
  return Array.from(text, (one) => {
    const low = one.toLowerCase();
    return [...low].length === 1 ? low : one;
  });
}

/** How the word matches the name; null: it does not. */
export function match(typed: string, name: string): Match | null {
  const [word, letters] = [folded(typed.trim()), folded(name)];
  if (!word.length) return { how: "start", marks: [] };
  const starts = startsOf(letters);
  const places = letters.map((_, at) => at).filter((at) => word.every((one, offset) => letters[at + offset] === one));
  const found = (how: How, at: number): Match => ({ how, marks: [[at, at + word.length]] });
  if (places[0] === 0) return found(word.length === letters.length ? "exact" : "start", 0);
  const start = places.find((at) => starts[at]);
  if (start !== undefined) return found("word", start);
  if (places[0] !== undefined) return found("inside", places[0]);
  const parts = partsOf(
    word.filter((one) => one.trim()),
    letters,
    starts,
  );
  return parts && { how: "parts", marks: parts };
}

/** Whether a word starts at each place; zeros before a number are passed over. */
function startsOf(letters: readonly string[]): readonly boolean[] {
  const starts: boolean[] = [];
  for (const [at, letter] of letters.entries()) {
    const before = letters[at - 1];
    const isPadded = before === "0" && letter >= "0" && letter <= "9" && starts[at - 1] === true;
    const begins = before === undefined || SEPARATORS.includes(before) || isPadded;
    starts.push(begins && !SEPARATORS.includes(letter));
  }
  return starts;
}

interface Step {
  readonly parts: number;
  readonly marks: Marks;
}

/** The fewest parts, leftmost, each at the start of a word; null: the letters are not there in this order. */
function partsOf(word: readonly string[], letters: readonly string[], starts: readonly boolean[]): Marks | null {
  const [first, ...others] = word;
  if (first === undefined || word.length > LONGEST_ABBREVIATION) return null;
  let row = new Map<number, Step>();
  for (const [at, letter] of letters.entries()) {
    if (letter === first && starts[at]) row.set(at, { parts: 1, marks: [[at, at + 1]] });
  }
  for (const wanted of others) {
    const following = new Map<number, Step>();
    let best: Step | null = null; // the fewest parts up to a place passed already
    for (const [at, letter] of letters.entries()) {
      if (letter === wanted) {
        const going = row.get(at - 1);
        let step: Step | null = going ? { parts: going.parts, marks: longer(going.marks, at + 1) } : null;
        if (starts[at] && best && (!step || best.parts + 1 < step.parts)) {
          step = { parts: best.parts + 1, marks: [...best.marks, [at, at + 1]] };
        }
        if (step) following.set(at, step);
      }
      const here = row.get(at);
      if (here && (!best || here.parts < best.parts)) best = here;
    }
    row = following;
  }
  let best: Step | null = null;
  for (const step of row.values()) if (!best || step.parts < best.parts) best = step;
  return best?.marks ?? null;
}

function longer(marks: Marks, end: number): Marks {
  const last = marks.at(-1);
  return last ? [...marks.slice(0, -1), [last[0], end]] : marks;
}

/** The name in pieces, those that match marked. */
export function piecesOf(name: string, marks: Marks): readonly { readonly text: string; readonly isMarked: boolean }[] {
  const letters = [...name];
  const pieces: { text: string; isMarked: boolean }[] = [];
  let at = 0;
  for (const [start, end] of [...marks, [letters.length, letters.length] as const]) {
    if (start > at) pieces.push({ text: letters.slice(at, start).join(""), isMarked: false });
    if (end > start) pieces.push({ text: letters.slice(start, end).join(""), isMarked: true });
    at = end;
  }
  return pieces;
}
