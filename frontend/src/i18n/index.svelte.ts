/** Texts in the reader's language; every text is a key of en.json, and zh-Hans.json has the same keys. */
import { read, write } from "../state/preferences.svelte";
import en from "./en.json";

export type TextKey = keyof typeof en;
export const LANGUAGES = { en: "English", "zh-Hans": "简体中文" } as const;
export type Language = keyof typeof LANGUAGES;

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

  number(value: number, digits = 0): string {
    return new Intl.NumberFormat(this.language, { maximumFractionDigits: digits }).format(value);
  }

  time(ms: number): string {
    return new Intl.DateTimeFormat(this.language, { timeStyle: "medium" }).format(ms);
  }
}

export const i18n = new I18n();
export const t = (key: TextKey, values?: Readonly<Record<string, string | number>>): string => i18n.text(key, values);
