/** Where the devices of an attempt went: every one is in one of the parts. */
import type { DeviceTally } from "../contract/api.gen";
import { t } from "../i18n/index.svelte";

export interface Part {
  text: string;
  devices: number;
}

export function partsOf(tally: DeviceTally): Part[] {
  return [
    { text: t("devices.all"), devices: tally.devices },
    ...tally.refused
      .filter((one) => one.devices > 0)
      .map((one) => ({
        text: t("devices.refusedBy", { owner: one.owner, number: one.index + 1 }),
        devices: one.devices,
      })),
    ...(tally.in_use ? [{ text: t("devices.inUse"), devices: tally.in_use }] : []),
    { text: t("devices.left"), devices: tally.left },
  ];
}
