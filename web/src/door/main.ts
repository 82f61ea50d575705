import { mount } from 'svelte'
import '../app.css'
import './door.css'
import Door from './Door.svelte'
import { i18n } from '../lib/i18n/index.svelte'
import { keepForReload } from './offline'

// The screen at a room's door: a page of its own, since it knows no user and must be there
// without the network. It shares what it can with the rest.
await i18n.settle()
mount(Door, { target: document.getElementById('app')! })
keepForReload()
