import 'swagger-ui-dist/swagger-ui.css'
import './docs.css'
// The whole of Swagger UI in one file: nothing is loaded from anywhere else.
import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js'

const dark = matchMedia('(prefers-color-scheme: dark)')

/** Swagger UI looks for a class; the rest of the page for the theme chosen in the application. */
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
  // The default asks a validator on the internet.
  validatorUrl: null,
})
