/** What an import came to, in words: the service's report and its refusals without their keys. */
import type { ImportReport, LeftOut } from "../contract/api.gen";
import { i18n, t } from "../i18n/index.svelte";
import { bytes, duration, quantity } from "./format";

/** What may become of the objects of a kind, in the order in which it is told. */
const OUTCOMES = ["created", "updated", "replaced", "unchanged", "deleted", "repeated", "refused"] as const;
const PASSED_OVER = ["files", "logs"] as const;
const PLACES = ["file", "document", "item", "line", "object", "field", "detail", "limit"] as const;
const LEFT_OUT = ["unknown_version", "unknown_kind", "configuration", "not_read", "confidential"] as const;
const NAMED_FORMATS = ["csv", "history"] as const; // of the others the name is theirs in capitals
const LISTED = 20;
const GPU_MILLI = "example.com/gpu-milli"; // thousandths of GPUs, as the openb trace asks for them
const HISTORY_BEGINS = "KSCHED-HISTORY";

export function filesText(report: ImportReport): readonly string[] {
  const shown = report.files.slice(0, LISTED).map((file) =>
    t("import.file", {
      name: file.name,
      format: formatText(file.format),
      size: bytes(file.bytes),
      objects: file.objects,
    }),
  );
  const more = report.files.length - shown.length;
  return more > 0 ? [...shown, t("import.moreFiles", { count: more })] : shown;
}

function formatText(format: string): string {
  const named = NAMED_FORMATS.find((one) => one === format);
  return named ? t(`import.format.${named}`) : format.toUpperCase();
}

/** The report with the files of folders that were not even sent. */
export function withPassedOver(report: ImportReport, files: number): ImportReport {
  const before = report.passed_over.files ?? 0;
  return files ? { ...report, passed_over: { ...report.passed_over, files: before + files } } : report;
}

/** [kind, "3 created, 1 unchanged"] */
export function kindsText(report: ImportReport): readonly (readonly [string, string])[] {
  return Object.entries(report.kinds).map(([kind, counts]) => {
    const told = OUTCOMES.filter((outcome) => counts[outcome]);
    return [kind, told.map((outcome) => t(`import.${outcome}`, { count: counts[outcome] ?? 0 })).join(t("import.and"))];
  });
}

/** What else there is to say, a sentence each. */
export function notesText(report: ImportReport): readonly string[] {
  const notes: string[] = [];
  if (report.files.some((file) => file.format === "history")) notes.push(t("import.record"));
  if (report.kept) notes.push(t("import.kept", { count: report.kept }));
  if (report.admitted) notes.push(t("import.admitted", { count: report.admitted }));
  for (const what of PASSED_OVER) {
    const count = report.passed_over[what];
    if (count) notes.push(t(`import.passedOver.${what}`, { count }));
  }
  const gpus = report.resources[GPU_MILLI];
  if (gpus?.capacity) notes.push(t("import.gpus", { demand: whole(gpus.demand), capacity: whole(gpus.capacity) }));
  const resources = Object.entries(report.resources);
  const short = resources.filter(([, { demand, capacity }]) => demand > capacity);
  if (short.length) {
    const list = short.map(([name, { demand, capacity }]) =>
      t("import.ofCapacity", { resource: name, demand: quantity(name, demand), capacity: quantity(name, capacity) }),
    );
    notes.push(t("import.short", { resources: list.join(t("import.and")) }));
  } else if (resources.some(([, { capacity }]) => capacity > 0)) {
    notes.push(t("import.enough"));
  }
  notes.push(t("import.took", { duration: duration(Math.round(report.seconds * 1_000_000)) }));
  return notes;
}

const whole = (milli: number) => Math.round(milli / 1000);

/** What was left out, by kind: [text, where the first ones stand, how many more there are]. */
export function leftOut(report: ImportReport): readonly (readonly [string, readonly string[], number])[] {
  return LEFT_OUT.flatMap((reason) =>
    report.left_out
      .filter((left) => left.reason === reason)
      .map(
        (left) =>
          [t(`import.leftOut.${reason}`, { kinds: leftOutText(left) }), left.at, left.count - left.at.length] as const,
      ),
  );
}

export const leftOutCount = (report: ImportReport): number =>
  report.left_out.reduce((count, left) => count + left.count, 0);

function leftOutText({ api_version, kind, count, reason, read_as }: LeftOut): string {
  const name = reason === "unknown_version" || reason === "unknown_kind" ? `${api_version} ${kind}` : kind;
  return t(read_as ? "import.leftOut.write" : "import.leftOut.kind", { kind: name, count, version: read_as });
}

/** What was not taken of an upload, as a report or a refusal has it. */
export type Refused = Pick<ImportReport, "refused" | "refused_total">;

/** The messages of what was refused, and how many more there are. */
export function refusedText(of: Refused): { readonly shown: readonly string[]; readonly more: number } {
  const shown = of.refused.slice(0, LISTED).map((refusal) => refusal.message);
  return { shown, more: of.refused_total - shown.length };
}

/** What a refusal lists when several parts of the upload cannot be taken. */
export function refusedOf(problem: Readonly<Record<string, unknown>>): Refused | null {
  return Array.isArray(problem.refused) && typeof problem.refused_total === "number"
    ? (problem as unknown as Refused)
    : null;
}

/** Where in the upload something is wrong: [word, value], without what is not known. */
export function problemText(problem: Readonly<Record<string, unknown>>): readonly (readonly [string, string])[] {
  return PLACES.flatMap((place): (readonly [string, string])[] => {
    const value = problem[place];
    if (value === undefined || value === "" || value === null) return [];
    return [[t(`import.where.${place}`), typeof value === "number" ? i18n.number(value) : String(value)]];
  });
}

/** A cluster's name out of a file's, as `./ksched import` makes it: `My dump.json.gz` makes `my-dump`. */
export function clusterNameOf(file: string): string {
  const words = (file.split(".")[0] ?? "").toLowerCase().split(/[^a-z0-9]+/);
  const name = words.filter(Boolean).join("-").slice(0, 63);
  return (name.endsWith("-") ? name.slice(0, -1) : name) || "imported";
}

/**
 * Whether a file is a history, which only a new cluster takes: told by its beginning, as by the service. What cannot be
 * read, such as a folder, is none.
 */
export async function isHistory(file: Blob): Promise<boolean> {
  const begins = file.slice(0, HISTORY_BEGINS.length).text();
  return (await begins.catch(() => "")) === HISTORY_BEGINS;
}

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function isClusterName(name: string): boolean {
  return DNS_LABEL.test(name);
}
