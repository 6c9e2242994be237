import { expect, test } from "vitest";
import { withExternal } from "./controllers";
import { kubeconfigOf, writingCommand } from "./kubeconfig";
import { isQuantity, nodesOf } from "./newNodes";

const access = { server: "https://h:8480", cluster: "prod", user: "kubeconfig prod", token: "t", certificate: "" };

test("a kubeconfig names the cluster's address and its token", () => {
  const text = kubeconfigOf(access);
  expect(text).toContain('server: "https://h:8480/k8s/prod"');
  expect(text).toContain('token: "t"');
  expect(text).toContain('current-context: "prod"');
  expect(text).not.toContain("certificate-authority-data");
});

test("a certificate of the service's own is part of it", () => {
  expect(kubeconfigOf({ ...access, certificate: "PEM" })).toContain(`certificate-authority-data: ${btoa("PEM")}`);
});

test("the command writes the same text, for its owner alone", () => {
  const text = kubeconfigOf(access);
  const command = writingCommand(text, "prod.kubeconfig");
  expect(command).toContain("umask 077");
  expect(atob(/<<< ([A-Za-z0-9+/=]+)\)/.exec(command)?.[1] ?? "")).toBe(text);
});

test("controllers are switched one by one and keep their order", () => {
  expect(withExternal(["garbage"], "kubelet", true)).toEqual(["kubelet", "garbage"]);
  expect(withExternal(["kubelet", "garbage"], "kubelet", false)).toEqual(["garbage"]);
});

test("nodes of one shape are ready, each with a name of its own", () => {
  const nodes = nodesOf(2, { cpu: "8", memory: "16Gi" }) as {
    metadata: { name: string };
    status: { capacity: object };
  }[];
  expect(nodes.map((node) => node.metadata.name)).toEqual(["node-1", "node-2"]);
  expect(nodes[0]?.status.capacity).toMatchObject({ cpu: "8", memory: "16Gi", pods: "110" });
});

test.each([
  ["16", true],
  ["500m", true],
  ["1.5Gi", true],
  ["", false],
  ["-1", false],
  ["1 Gi", false],
])("%s as a quantity: %s", (text, good) => {
  expect(isQuantity(text)).toBe(good);
});
