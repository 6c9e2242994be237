import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [svelte()],
  resolve: { conditions: ["browser"] },
  test: {
    environment: "happy-dom",
    isolate: false,
    setupFiles: "src/test_setup.ts",
    include: ["src/**/*.test.ts"],
    testTimeout: 20_000,
  },
});
