import { mount } from 'svelte'
import '../app.css'
import './door.css'
import Door from './Door.svelte'
import { i18n } from '../lib/i18n/index.svelte'
import { organization } from '../lib/branding.svelte'
import { keepForReload } from './offline'

// The screen at a room's door is a page of its own: it has no signed-in user and must work
// without the network. It shares what it can with the application.
await i18n.settle()
void organization.load()
setInterval(() => void organization.load(), 600_000)
mount(Door, { target: document.getElementById('app')! })
keepForReload()
