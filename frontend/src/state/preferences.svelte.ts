/** What this browser prefers and remembers; kept in local storage where there is one. */

export type Theme = "auto" | "light" | "dark";

class Preferences {
  theme = $state<Theme>(read("theme", ["auto", "light", "dark"] as const, "auto"));
  nodes = $state<"grid" | "list">(read("nodes", ["grid", "list"] as const, "grid"));
  /** Rises when colours may have changed: canvases read them again. */
  colours = $state(0);

  constructor() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    this.paint();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    write("theme", theme);
    this.paint();
  }

  setNodes(view: "grid" | "list"): void {
    this.nodes = view;
    write("nodes", view);
  }

  private paint(): void {
    const dark = this.theme === "dark" || (this.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.colours += 1;
  }
}

export function read<T extends string>(name: string, allowed: readonly T[], otherwise: T): T {
  const written = kept(name);
  return allowed.find((value) => value === written) ?? otherwise;
}

/** As it was written; empty when it never was. */
export function kept(name: string): string {
  try {
    return localStorage.getItem(`ksched.${name}`) ?? "";
  } catch {
    return "";
  }
}

export function write(name: string, value: string): void {
  try {
    localStorage.setItem(`ksched.${name}`, value);
  } catch {
    // A browser that keeps nothing still shows everything.
  }
}

export const preferences = new Preferences();
