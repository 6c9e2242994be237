/** What the engine's names stand for, in plain words: of cluster events, and of the phases of an attempt. */
import { isTextKey, t } from "../i18n/index.svelte";

/** Events of pods and nodes, and those of the scheduler itself, have their own words; others are a kind and an action. */
export function eventText(label: string): string | null {
  const own = `event.${label}`;
  if (isTextKey(own)) return t(own);
  const [, resource = "", action = ""] = label.match(/^(.+?)(Add|Update|Delete)$/) ?? [];
  const [kind, any] = [`event.kind.${resource}`, `event.any.${action}`];
  return isTextKey(kind) && isTextKey(any) ? t(any, { kind: t(kind) }) : null;
}

/** The name of the extension point, as Kubernetes writes it: `pre_filter` is PreFilter. */
export function phaseName(phase: string): string {
  return phase.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function phaseText(phase: string): string | null {
  const key = `phase.${phase}`;
  return isTextKey(key) ? t(key) : null;
}
