import { tick } from 'svelte'

const rest = () => [...document.querySelectorAll<HTMLElement>('dialog[open] h2')].at(-1) ?? document.getElementById('content')

/**
 * After the page is redrawn, focuses the first available element if the focused one is
 * gone. Otherwise the keyboard would start at the top of the page again. The last
 * resort is the title of the dialog, or the content of the page.
 */
export async function keepFocus(...to: (() => Element | null | undefined)[]) {
  await tick()
  if (document.activeElement && document.activeElement !== document.body) return
  for (const find of [...to, rest]) {
    const el = find()
    if (!(el instanceof HTMLElement) || !el.isConnected) continue
    el.focus({ preventScroll: find === rest })
    return
  }
}

/** Returns the element at that index of a list that may have become shorter. */
export function atPlace(list: NodeListOf<Element> | undefined, place: number): Element | undefined {
  return list?.[Math.min(place, list.length - 1)]
}
