/** What waits in a frozen cluster for controllers that do not act, in words. */
import type { InVain } from "../contract/api.gen";
import { t } from "../i18n/index.svelte";

export function inVainText({ reason, kind, count, names }: InVain): string {
  const listed = names.join(", ") + (count > names.length ? ", …" : "");
  return t(count === 1 ? "inVain.one" : "inVain.many", { kind, count, names: listed, what: t(`inVain.${reason}`) });
}
