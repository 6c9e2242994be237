import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

const SERVICE = process.env.KSCHED_URL ?? "http://127.0.0.1:8480";

// Django serves frontend/dist under /static/ and index.html at /. `npm run dev` works on a running service.
export default defineConfig({
  base: "/static/",
  plugins: [svelte(), precompressed()],
  server: {
    proxy: {
      "^/(api|login|logout|admin)": SERVICE,
      "/ws": { target: SERVICE, ws: true },
    },
  },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    // Everything comes from files of our own origin: the content security policy allows no data: scripts or styles.
    assetsInlineLimit: 0,
  },
});

/** Writes a .gz beside every script and style sheet: Django's static files are sent as they lie on the disk. */
function precompressed(): Plugin {
  return {
    name: "precompressed",
    apply: "build",
    writeBundle({ dir = "dist" }, bundle) {
      for (const [name, part] of Object.entries(bundle)) {
        const content = part.type === "chunk" ? part.code : part.source;
        if (/\.(js|css)$/.test(name)) writeFileSync(join(dir, `${name}.gz`), gzipSync(content, { level: 9 }));
      }
    },
  };
}
