import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

const SERVICE = process.env.KSCHED_URL ?? "http://127.0.0.1:8480";

// Django serves frontend/dist under /static/ and index.html at /. `npm run dev` works on a running service.
export default defineConfig({
  base: "/static/",
  plugins: [svelte()],
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
