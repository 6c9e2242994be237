/**
 * A long list of which only the rows in sight are drawn, all of one height.
 *
 * The list is one stop for Tab; arrow keys, j and k, Page Up, Page Down, Home and End move the focus from row to row. The row
 * that has the focus is drawn wherever it is, so that scrolling and new data never take the focus away.
 *
 * In the view: `{@attach list.attach}` on the element that scrolls; for each index of `list.shown` a row with
 * `data-row={index}` that holds one link with `tabindex={list.tabindex(index)}`.
 */
import { tick } from "svelte";

const SPARE = 4; // rows drawn above and below those in sight

export class ListWindow {
  private scrollTop = $state(0);
  private height = $state(0);
  private focused = $state<string | null>(null); // the key of the row that has the focus
  private host: HTMLElement | null = null;
  private moving = false; // the row that had the focus may go before the next one has it

  private readonly first = $derived.by(() => Math.min(Math.floor(this.scrollTop / this.rowHeight), this.last));
  private readonly last = $derived.by(() => this.keys().length - 1);
  private readonly focusedRow = $derived.by(() => (this.focused === null ? -1 : this.keys().indexOf(this.focused)));
  private readonly stop = $derived.by(() => (this.focusedRow >= 0 ? this.focusedRow : this.firstWhole()));

  /** The indices of the rows to draw, in order. */
  readonly shown = $derived.by((): readonly number[] => {
    const from = Math.max(0, this.first - SPARE);
    const to = Math.min(this.last, Math.floor((this.scrollTop + this.height) / this.rowHeight) + SPARE);
    const rows = Array.from({ length: Math.max(0, to - from + 1) }, (_, place) => from + place);
    if (this.focusedRow >= 0 && this.focusedRow < from) return [this.focusedRow, ...rows];
    return this.focusedRow > to ? [...rows, this.focusedRow] : rows;
  });

  /** `keys` names the rows, in their order; a row keeps its key while others come and go. */
  constructor(
    private readonly keys: () => readonly string[],
    private readonly rowHeight: number,
  ) {}

  tabindex(row: number): 0 | -1 {
    return row === this.stop ? 0 : -1;
  }

  readonly attach = (host: HTMLElement): (() => void) => {
    this.host = host;
    const measure = () => {
      this.height = host.clientHeight;
      this.scrollTop = host.scrollTop;
    };
    const resize = new ResizeObserver(measure);
    resize.observe(host);
    // Later: an element that is being removed loses the focus in the middle of Svelte's own work.
    const look = () =>
      queueMicrotask(() => {
        if (!this.moving) this.look();
      });
    const listeners = {
      scroll: measure,
      focusin: look,
      focusout: look,
      keydown: (event: Event) => this.onKey(event as KeyboardEvent),
    };
    for (const [name, listener] of Object.entries(listeners)) host.addEventListener(name, listener);
    return () => {
      resize.disconnect();
      for (const [name, listener] of Object.entries(listeners)) host.removeEventListener(name, listener);
      this.host = null;
    };
  };

  private firstWhole(): number {
    return Math.min(Math.ceil(this.scrollTop / this.rowHeight), this.last);
  }

  private look(): void {
    const active = document.activeElement;
    const row = this.host?.contains(active) ? active?.closest<HTMLElement>("[data-row]") : null;
    this.focused = row ? (this.keys()[Number(row.dataset.row)] ?? null) : null;
  }

  private onKey(event: KeyboardEvent): void {
    if (this.focusedRow < 0 || event.altKey || event.metaKey || event.shiftKey) return;
    if (event.ctrlKey && event.key.length === 1) return; // a command of the page or the browser
    const page = Math.max(1, Math.floor(this.height / this.rowHeight) - 1);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      j: 1,
      k: -1,
      PageDown: page,
      PageUp: -page,
      Home: -this.focusedRow,
      End: this.last - this.focusedRow,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    void this.focus(Math.max(0, Math.min(this.last, this.focusedRow + step)));
  }

  private async focus(row: number): Promise<void> {
    this.moving = true;
    this.focused = this.keys()[row] ?? null;
    await tick();
    const link = this.host?.querySelector<HTMLElement>(`[data-row="${row}"] a`);
    link?.focus({ preventScroll: true });
    link?.closest("[data-row]")?.scrollIntoView({ block: "nearest" });
    this.moving = false;
    this.look();
  }
}
