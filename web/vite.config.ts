import { defineConfig } from 'vitest/config'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { icons } from './scripts/icons.js'
import { licenses } from './scripts/licenses.js'
import { doorWorker } from './scripts/worker.js'

// Three pages: the application, the screen at a door, and the API reference. `npm run dev` uses a
// punctual server that runs locally.
const server = process.env.PUNCTUAL_URL ?? 'http://localhost:8080'

/** Modules that the first view needs: the framework, the library of the page without its texts and charts, and the day. */
const first = /node_modules[\\/](svelte|openapi-fetch|esm-env|clsx|@fontsource-variable)[\\/]|rolldown[\\/]runtime|src[\\/](app\.css|month[\\/](MiniCalendar|ownDays))|src[\\/]lib[\\/](?!i18n[\\/](en|de|zh)[\\/]|charts[\\/])|src[\\/](day|Shell|App|pages[\\/](Day|SignIn))/

export default defineConfig({
  plugins: [svelte(), licenses(), icons(), doorWorker()],
  build: {
    target: 'es2023',
    // Nothing is inlined as a data: URL or a script, so the Content-Security-Policy can be strict.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // swagger-ui is one file of 1.7 MB, loaded by its own page only.
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      input: { index: 'index.html', door: 'door.html', docs: 'docs.html' },
      // What the first view needs is in few files: each request costs more than the bytes it saves.
      // A module runs when it is imported, not when its file is loaded: the door's page shares the file.
      output: { strictExecutionOrder: true, codeSplitting: { groups: [{ name: 'first', test: first }] } },
    },
  },
  // Tests use the browser builds of stores.
  resolve: process.env.VITEST ? { conditions: ['browser'] } : undefined,
  test: { include: ['tests/*.test.{js,ts}'], setupFiles: 'tests/setup.ts', pool: 'threads', testTimeout: 60_000 },
  server: {
    proxy: {
      '/api': { target: server, headers: { origin: server } },
      '/openapi.json': server,
    },
  },
})
