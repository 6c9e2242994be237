/** Texts in the reader's language; every text is a key of en.json, and zh-Hans.json has the same keys. */
import { read, write } from "../state/preferences.svelte";
import en from "./en.json";

export type TextKey = keyof typeof en;
export const LANGUAGES = { en: "English", "zh-Hans": "简体中文" } as const;
export type Language = keyof typeof LANGUAGES;

interface Formats {
  readonly whole: Intl.NumberFormat;
  readonly fraction: Intl.NumberFormat; // one digit
  readonly time: Intl.DateTimeFormat;
}

// To make one costs more than to use it a thousand times.
const formats = new Map<Language, Formats>();

function formatsOf(language: Language): Formats {
  const known = formats.get(language);
  if (known) return known;
  const made = {
    whole: new Intl.NumberFormat(language, { maximumFractionDigits: 0 }),
    fraction: new Intl.NumberFormat(language, { maximumFractionDigits: 1 }),
    time: new Intl.DateTimeFormat(language, { timeStyle: "medium" }),
  };
  formats.set(language, made);
  return made;
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
    const text = this.texts[key];
    return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
      const value = values[name];
      if (value === undefined) return whole;
      return typeof value === "number" ? this.number(value) : value;
    });
  }

  number(value: number, digits: 0 | 1 = 0): string {
    const { fraction, whole } = formatsOf(this.language);
    return (digits ? fraction : whole).format(value);
  }

  time(ms: number): string {
    return formatsOf(this.language).time.format(ms);
  }
}

export const i18n = new I18n();
export const t = (key: TextKey, values?: Readonly<Record<string, string | number>>): string => i18n.text(key, values);
