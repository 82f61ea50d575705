import { mount } from 'svelte'
import './app.css'
import App from './App.svelte'
import { i18n } from './lib/i18n/index.svelte'
import { organization } from './lib/branding.svelte'
import { session } from './lib/session.svelte'

// Load language and user first: the page appears once, in the right language.
await i18n.settle()
void organization.load()
await session.load()
mount(App, { target: document.getElementById('app')! })
