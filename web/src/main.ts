import { mount } from 'svelte'
import './app.css'
import App from './App.svelte'
import { i18n } from './lib/i18n/index.svelte'
import { organization } from './lib/branding.svelte'
import { session } from './lib/session.svelte'

// The page appears at once for the user of the last visit, while the server is asked who it is. For
// others language and user come first: the page appears once, in the right language.
const known = session.resume()
await i18n.settle(known?.locale)
const loaded = session.load()
if (!known || !organization.known) await Promise.all([loaded, organization.load()])
mount(App, { target: document.getElementById('app')! })
