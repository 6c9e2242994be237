/** What decided an attempt: the one sentence that stands first wherever the attempt is shown. */
import type { Amounts, Attempt } from "../contract/api.gen";
import { t } from "../i18n/index.svelte";
import { amountsOf, type Sentence, sentence, sentencesOf } from "./amounts";
import { refusalsOf } from "./rejections";

/** Empty where nothing was decided, or a nomination by an earlier attempt did (`nominatedByText` says which). */
export function decisionOf(attempt: Attempt): Sentence {
  switch (attempt.result) {
    case "scheduled":
    case "proposed":
      return choice(attempt);
    case "unschedulable":
      return refusal(attempt);
    default:
      return [];
  }
}

/** How one of the feasible nodes was chosen. */
function choice({ node_name, feasible, best, tied, tried_first, nominated_by }: Attempt): Sentence {
  const node = { node: node_name };
  if (tried_first) return nominated_by ? [] : sentence("attempt.saysNominatedTo", { node });
  if (feasible === 1) return sentence("attempt.saysOnly", { node });
  const total = best.find((one) => one.node === node_name)?.total ?? null;
  if (tied !== null && tied > 1) {
    const others = tied - 1;
    const equal =
      total === null
        ? sentence("attempt.saysEqual", { node, others })
        : sentence("attempt.saysTied", { node, others, total });
    return [...equal, { text: ` ${t("attempt.saysDrawn")}` }];
  }
  if (total === null) return [];
  // Attempts of older versions do not say how many tied.
  if (tied === null) return sentence("attempt.saysTotal", { node, total });
  const [second] = best
    .flatMap((one) => (one.node === node_name || one.total === null ? [] : [{ node: one.node, total: one.total }]))
    .sort((a, b) => b.total - a.total);
  if (!second) return sentence("attempt.saysBest", { node, total });
  return sentence("decides.best", { node, total, more: total - second.total, second: { node: second.node } });
}

/** What kept the most nodes from the pod. A reason given before any node was evaluated keeps out all of them alike. */
function refusal({ evaluated, rejections }: Attempt): Sentence {
  const main = refusalsOf(rejections)[0];
  if (!main) return evaluated ? [] : sentence("attempt.saysBefore", {});
  const { plugin, count } = main;
  const reason = main.reason || t("attempt.noReason");
  if (!evaluated) return sentence("attempt.saysBeforeFor", { reason, plugin });
  const about = together(main.amounts);
  if (about?.kind === "resource") {
    const { asked, there } = amountsOf(about);
    const values = { subject: about.subject, asked, there, node: { node: about.node }, evaluated };
    if (evaluated === 1) return sentence("decides.lacksOne", values);
    if (about.nodes === evaluated) return sentence("decides.lacks", values);
    return sentence("decides.lacksSome", { ...values, nodes: about.nodes });
  }
  const said = sentence("decides.reason", { reason, plugin, count, evaluated });
  const amounts = about && sentencesOf(about)[0];
  return amounts ? [...said, { text: " " }, ...amounts] : said;
}

/** The amounts of the first subject over all codes; a node has one of them, and the largest stands for all. */
function together(amounts: readonly Amounts[]): Amounts | undefined {
  const [first] = amounts;
  if (first?.kind !== "resource") return first;
  const same = amounts.filter((one) => one.kind === first.kind && one.subject === first.subject);
  const largest = same.reduce((best, one) => ((one.there ?? 0) > (best.there ?? 0) ? one : best), first);
  return { ...largest, nodes: same.reduce((sum, one) => sum + one.nodes, 0) };
}
