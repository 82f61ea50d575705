import 'swagger-ui-dist/swagger-ui.css'
import './docs.css'
// Swagger UI is bundled in one file: nothing is loaded from other hosts.
import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js'

const dark = matchMedia('(prefers-color-scheme: dark)')

/** Swagger UI checks a class for dark mode; the rest of the page uses the application's theme. */
function paint() {
  const chosen = document.documentElement.dataset.theme
  document.documentElement.classList.toggle('dark-mode', chosen ? chosen === 'dark' : dark.matches)
}
dark.addEventListener('change', paint)
paint()

SwaggerUI({
  url: '/openapi.json',
  domNode: document.getElementById('docs'),
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  // By default, Swagger UI calls a validator on the internet.
  validatorUrl: null,
})
