/**
 * Texts in the reader's language; every text is a key of en.json, and zh-Hans.json has the same keys.
 *
 * A text names its values in braces: `{node}`. After a number may stand the forms of the noun it counts, in the order of
 * the language's plural categories: `{count|pod|pods}` reads "1 pod" and "2 pods".
 */
import { read, write } from "../state/preferences.svelte";
import en from "./en.json";

export type TextKey = keyof typeof en;
export const isTextKey = (key: string): key is TextKey => Object.hasOwn(en, key);
export const LANGUAGES = { en: "English", "zh-Hans": "简体中文" } as const;
export type Language = keyof typeof LANGUAGES;

interface Formats {
  readonly whole: Intl.NumberFormat;
  readonly fraction: Intl.NumberFormat; // one digit
  readonly time: Intl.DateTimeFormat;
  readonly moment: Intl.DateTimeFormat; // day and time
  readonly momentOfYear: Intl.DateTimeFormat;
  readonly day: Intl.DateTimeFormat; // with the year
  readonly short: Intl.DateTimeFormat; // without the seconds, where there is little room
  readonly plurals: Intl.PluralRules;
}

const DAY = { month: "short", day: "numeric" } as const;
const TIME = { hour: "numeric", minute: "2-digit", second: "2-digit" } as const;

// To make one costs more than to use it a thousand times.
const formats = new Map<Language, Formats>();

function formatsOf(language: Language): Formats {
  const known = formats.get(language);
  if (known) return known;
  const made = {
    whole: new Intl.NumberFormat(language, { maximumFractionDigits: 0 }),
    fraction: new Intl.NumberFormat(language, { maximumFractionDigits: 1 }),
    time: new Intl.DateTimeFormat(language, { timeStyle: "medium" }),
    moment: new Intl.DateTimeFormat(language, { ...DAY, ...TIME }),
    momentOfYear: new Intl.DateTimeFormat(language, { year: "numeric", ...DAY, ...TIME }),
    day: new Intl.DateTimeFormat(language, { dateStyle: "medium" }),
    short: new Intl.DateTimeFormat(language, { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" }),
    plurals: new Intl.PluralRules(language),
  };
  formats.set(language, made);
  return made;
}

const CATEGORIES = ["zero", "one", "two", "few", "many", "other"] as const;

/** The form of a noun for that number, of forms in the order of the rules' categories; the last where one is missing. */
export function pluralForm(rules: Intl.PluralRules, value: number, forms: readonly string[]): string {
  const own = rules.resolvedOptions().pluralCategories;
  const place = CATEGORIES.filter((category) => own.includes(category)).indexOf(rules.select(value));
  return forms[place] ?? forms.at(-1) ?? "";
}

class I18n {
  language = $state<Language>("en");
  private texts = $state.raw<Readonly<Record<TextKey, string>>>(en);

  async use(language: Language): Promise<void> {
    this.texts = language === "en" ? en : (await import("./zh-Hans.json")).default;
    this.language = language;
    document.documentElement.lang = language;
    write("language", language);
  }

  /** What was chosen before, else what the browser asks for. */
  async start(): Promise<void> {
    const asked = navigator.language.toLowerCase().startsWith("zh") ? "zh-Hans" : "en";
    await this.use(read("language", ["en", "zh-Hans"] as const, asked));
  }

  text(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
    return this.texts[key].replace(/\{(\w+)((?:\|[^|}]+)*)\}/g, (whole, name: string, forms: string) => {
      const value = values[name];
      if (value === undefined) return whole;
      if (typeof value === "string") return value;
      const { plurals } = formatsOf(this.language);
      return this.number(value) + (forms && ` ${pluralForm(plurals, value, forms.slice(1).split("|"))}`);
    });
  }

  number(value: number, digits: 0 | 1 = 0): string {
    const { fraction, whole } = formatsOf(this.language);
    return (digits ? fraction : whole).format(value);
  }

  time(ms: number): string {
    return formatsOf(this.language).time.format(ms);
  }

  /** The time of what is of the day it is `now`, with the date of what is of another. */
  when(ms: number, now = Date.now()): string {
    return new Date(ms).toDateString() === new Date(now).toDateString()
      ? this.time(ms)
      : formatsOf(this.language).short.format(ms);
  }

  day(ms: number): string {
    return formatsOf(this.language).day.format(ms);
  }

  /** Day and time, for what may be older than today; with the year when that is another. */
  moment(ms: number): string {
    const isThisYear = new Date(ms).getFullYear() === new Date().getFullYear();
    const { moment, momentOfYear } = formatsOf(this.language);
    return (isThisYear ? moment : momentOfYear).format(ms);
  }
}

export const i18n = new I18n();
export const t = (key: TextKey, values?: Readonly<Record<string, string | number>>): string => i18n.text(key, values);
