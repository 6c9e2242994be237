/** A colour of its own for each phase of a cycle and each plugin that scores, the same wherever it is drawn. */

const COLOURS = 8;
const PHASES: Readonly<Record<string, string>> = {
  snapshot: "var(--plugin-7)",
  pre_filter: "var(--plugin-1)",
  filter: "var(--plugin-0)",
  extenders: "var(--quiet)",
  post_filter: "var(--plugin-4)",
  pre_score: "var(--plugin-5)",
  score: "var(--plugin-2)",
  reserve: "var(--plugin-3)",
  permit: "var(--plugin-6)",
};
/** The default plugins, each in its place. */
const PLUGINS = [
  "NodeResourcesFit",
  "NodeResourcesBalancedAllocation",
  "PodTopologySpread",
  "InterPodAffinity",
  "TaintToleration",
  "NodeAffinity",
  "ImageLocality",
  "VolumeBinding",
];

export function phaseColour(phase: string): string {
  return PHASES[phase] ?? `var(--plugin-${hash(phase)})`;
}

export function pluginColour(plugin: string): string {
  const place = PLUGINS.indexOf(plugin);
  return `var(--plugin-${place < 0 ? hash(plugin) : place})`;
}

function hash(name: string): number {
  return [...name].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 65_521, 0) % COLOURS;
}
