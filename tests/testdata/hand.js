// What looks for the mouse and the keyboard of a test before they act, as a person does.
globalThis.hand = (() => {
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  const describe = (e) => (e?.cloneNode ? `${e.cloneNode(false).outerHTML ?? e.nodeName} ${e.innerText ?? ''}`.slice(0, 240) : 'nothing')

  /** What is not inert: all, or what is in the dialog that is open. */
  const scope = () => [...document.querySelectorAll('dialog:modal')].at(-1) ?? document
  const visible = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length > 0
  const foremost = (list) => list.find(visible) ?? list[0]
  const squeeze = (text) => text.trim().replace(/\s+/g, ' ')

  /** Why an element cannot be used at present; '' if it can. */
  const useless = (e) => {
    if (!e?.isConnected) return 'is not there'
    if (!visible(e)) return 'is not visible'
    if (e.matches(':disabled, [aria-disabled=true]')) return 'is disabled'
    return ''
  }
  /** Whether what was hit is the element, inside it, or its label. */
  const belongs = (hit, e) => e.contains(hit) || hit?.closest?.('label')?.control === e
  const middle = (e) => {
    const r = e.getClientRects()[0]
    return r ? [r.left + r.width / 2, r.top + r.height / 2] : [NaN, NaN]
  }
  const still = async (e) => {
    const before = middle(e).join()
    await frames()
    return before === middle(e).join()
  }

  let watched = null
  const unwatch = () => {
    for (const type of watched?.types ?? []) removeEventListener(type, watched, true)
  }
  /** Lets the next events of these types get to one element alone. */
  const watch = (e, types) => {
    unwatch()
    watched = {
      e,
      types,
      other: '', // what was hit instead
      clicked: false,
      handleEvent(event) {
        const { type, target } = event
        // What follows may go elsewhere, as when a key opens a dialog.
        if (['pointerdown', 'keydown'].includes(type) && !(belongs(target, e) && !useless(e))) this.other ||= describe(target)
        if (this.other) {
          event.preventDefault()
          event.stopImmediatePropagation()
        } else if (type === 'pointerdown') toasts.length = 0
        else if (type === 'click') this.clicked ||= belongs(target, e)
      },
    }
    for (const type of types) addEventListener(type, watched, true)
  }
  const mouse = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click']
  const keyboard = ['keydown', 'keypress', 'beforeinput']

  const toasts = [] // that nobody waited for yet
  const seen = new WeakSet() // a toast that moves into a dialog, or out of it, is not a new one
  const noticed = (toast) => {
    if (!seen.has(toast)) toasts.push(toast)
    seen.add(toast)
  }
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) {
      for (const n of addedNodes) if (n.matches?.('.toast')) noticed(n)
      else n.querySelectorAll?.('.toast').forEach(noticed)
      const said = (target.closest ? target : target.parentElement)?.closest('.said') // the one line of a door
      if (said) toasts.push({ textContent: said.textContent })
    }
  }).observe(document, { childList: true, characterData: true, subtree: true })

  let asked = 0 // and not answered yet
  const real = fetch
  globalThis.fetch = async (...request) => {
    asked++
    try {
      return await real(...request)
    } finally {
      asked--
    }
  }

  return {
    named: (name) => foremost([...scope().querySelectorAll('button, a')].filter((e) => squeeze(e.textContent) === name || e.ariaLabel === name)),
    field: (label) => foremost([...scope().querySelectorAll('label')].filter((l) => l.textContent.trim() === label && l.control))?.control,
    path(xpath) {
      const found = document.evaluate(xpath, document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE)
      return foremost(Array.from({ length: found.snapshotLength }, (_, i) => found.snapshotItem(i)))
    },
    /** An hour of a room in the grid. */
    hour(room, hour) {
      const head = [...document.querySelectorAll('[role=rowheader]')].find((e) => e.innerText.includes(room))
      const track = head.closest('[role=row]').querySelector('.track')
      const r = track.getBoundingClientRect()
      return [track, r.left + (r.width * hour) / 24, r.top + r.height / 2]
    },

    /** Where to click on an element. */
    async aim(find, attempt) {
      const e = find()
      let missing = useless(e)
      if (missing) return { missing }
      const onTop = () => belongs(document.elementFromPoint(...middle(e)), e)
      if (!onTop()) e.scrollIntoView({ block: ['center', 'nearest', 'end', 'start'][attempt % 4], inline: 'nearest', behavior: 'instant' })
      if (!(await still(e))) return { missing: 'moves' }
      missing = useless(e)
      if (missing) return { missing }
      if (find() !== e) return { missing: 'is drawn anew' }
      const [x, y] = middle(e)
      if (!onTop()) return { missing: `is covered by ${describe(document.elementFromPoint(x, y))}` }
      watch(e, mouse)
      return { missing: '', x, y }
    },
    /** Whether the click went astray; it does not when it led to another document. */
    missed() {
      if (!watched) return ''
      unwatch()
      if (watched.other) return `was covered by ${watched.other}`
      return watched.clicked || !watched.e.matches('button, a, input, label, summary') ? '' : 'was drawn anew under the mouse'
    },

    /** Where to draw with the mouse: elements, each with a point in it. */
    async steady(find) {
      const before = find()
      await frames()
      const places = find()
      if (String(before.flatMap((p) => p.slice(1))) !== String(places.flatMap((p) => p.slice(1)))) return { missing: 'move' }
      for (const [e, x, y] of places) {
        const hit = document.elementFromPoint(x, y)
        if (!belongs(hit, e)) return { missing: `are covered by ${describe(hit)}` }
      }
      watch(places[0][0], ['pointerdown', 'mousedown'])
      return { missing: '', points: places.map((p) => p.slice(1)) }
    },
    dropped() {
      if (!watched) return ''
      unwatch()
      return watched.other && `were covered by ${watched.other}`
    },

    /** Gives the keyboard to an element, for over what is in it. */
    async hold(find, over) {
      const e = find()
      const missing = useless(e) || (over && e.readOnly ? 'is read only' : '')
      if (missing) return missing
      if (document.activeElement !== e) e.focus()
      await frames()
      if (document.activeElement !== e) return `does not keep the keyboard, which is at ${describe(document.activeElement)}`
      if (over) e.select?.()
      watch(e, keyboard)
      return ''
    },
    /** Whether something else had the keyboard. */
    stolen() {
      if (!watched) return ''
      unwatch()
      return watched.other && `lost the keyboard to ${watched.other}`
    },
    /** Whether all that was typed is in the element. What completes as one types may take it away. */
    kept(text, over) {
      const e = watched?.e
      const stolen = hand.stolen()
      if (stolen || !over || e.role === 'combobox') return stolen
      return e.isConnected && e.value === text ? '' : `has ${JSON.stringify(e.value)} for what was typed, ${JSON.stringify(text)}`
    },

    choose(e, value) {
      if (!e || e.matches(':disabled') || (e.options && ![...e.options].some((o) => o.value === value))) return false
      e.value = value
      for (const type of ['input', 'change']) e.dispatchEvent(new Event(type, { bubbles: true }))
      return true
    },
    /** Whether the page waits for no answer, nor is about to ask. */
    async idle() {
      if (!asked) await frames()
      return !asked
    },
    noticed: (text) => toasts.some((e) => e.textContent.includes(text)),

    told(text) {
      const at = toasts.findIndex((e) => e.textContent.includes(text))
      return at >= 0 && toasts.splice(at, 1).length > 0
    },
  }
})()
