/** A kubeconfig for the Kubernetes API of a cluster here. JSON strings are YAML strings too. */
export interface Access {
  readonly server: string; // of the service, without a path
  readonly cluster: string;
  readonly user: string;
  readonly token: string;
  readonly certificate: string; // PEM; empty: one that everybody knows, or none
}

export function kubeconfigOf({ server, cluster, user, token, certificate }: Access): string {
  const [name, who] = [JSON.stringify(cluster), JSON.stringify(user)];
  const authority = certificate ? [`    certificate-authority-data: ${btoa(certificate)}`] : [];
  return [
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    `- name: ${name}`,
    "  cluster:",
    `    server: ${JSON.stringify(`${server}/k8s/${cluster}`)}`,
    ...authority,
    "users:",
    `- name: ${who}`,
    "  user:",
    `    token: ${JSON.stringify(token)}`,
    "contexts:",
    `- name: ${name}`,
    `  context: {cluster: ${name}, user: ${who}}`,
    `current-context: ${name}`,
    "",
  ].join("\n");
}

/** A command that writes the file where only its owner can read it. */
export function writingCommand(text: string, file: string): string {
  return `(umask 077; base64 -d > ${file} <<< ${btoa(text)}) && kubectl --kubeconfig ${file} get nodes`;
}
