import { tick } from 'svelte'

const rest = () => [...document.querySelectorAll<HTMLElement>('dialog[open] h2')].at(-1) ?? document.getElementById('content')

/**
 * Once the page is drawn anew, gives the focus to the first of the elements that is there, if
 * what had it is gone: else the keyboard would begin at the top of the page again. The last
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

/** The element at that place of a list that may have become shorter. */
export function atPlace(list: NodeListOf<Element> | undefined, place: number): Element | undefined {
  return list?.[Math.min(place, list.length - 1)]
}
