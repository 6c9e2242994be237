/** Focus goes to a panel that opens, and back to what opened it when the last panel closes. */

const PANEL = "[data-panel]";
const HOME = "cluster"; // the page below all panels

interface Opener {
  readonly element: Element | null;
  readonly href: string | null;
}

let opener: Opener | null = null;

/** Focuses the panel; the returned function is called when it goes. */
export function focusPanel(panel: HTMLElement): () => void {
  // From one panel to the next the first opener stays.
  if (!opener) {
    const element = document.activeElement === document.body ? null : document.activeElement;
    opener = { element, href: element?.getAttribute("href") ?? null };
  }
  panel.focus({ preventScroll: true });
  return () => {
    // The next panel, if there is one, is in the document by then.
    queueMicrotask(() => {
      if (document.querySelector(PANEL) || !opener) return;
      const { element, href } = opener;
      opener = null;
      // A pod's chip may have moved to another lane meanwhile.
      const same = href ? document.querySelector(`a[href="${CSS.escape(href)}"]`) : null;
      const target = element?.isConnected ? element : (same ?? document.getElementById(HOME));
      if (target instanceof HTMLElement || target instanceof SVGElement) target.focus({ preventScroll: true });
    });
  };
}

/** Whether Escape has a text to clear in a field before it leaves anything. */
export const hasTextToClear = ({ target }: Event): boolean =>
  target instanceof HTMLInputElement && target.type === "search" && target.value !== "";
