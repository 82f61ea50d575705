// Parses what people type and paste to name attendees.

export interface Address {
  /** Empty for a person who is invited by phone number alone. */
  email: string
  name?: string
  phone?: string
  /** Of a user of this installation, if it is known. */
  user_id?: number | null
}

const word = /^[^\s@<>()[\]",;:\\]+@[^\s@<>()[\]",;:\\]+$/

/** Reports whether the text looks like an address; the server has the last word. */
export function isAddress(email: string): boolean {
  return word.test(email) && email.length <= 254
}

/** Reports whether the text looks like an international phone number. */
export function isPhone(text: string): boolean {
  return /^\+[1-9]\d{3,14}$/.test(digits(text))
}

const digits = (text: string) => text.replace(/[\s()./\p{Dash}]/gu, '')

/** Reports whether the typed text is enough to invite a person. */
export function isReachable(p: Address): boolean {
  return p.email ? isAddress(p.email) : isPhone(p.phone ?? '')
}

/** Returns what identifies a person. */
export function keyOf(p: Address): string {
  return p.email.toLowerCase() || digits(p.phone ?? '')
}

export function labelOf(p: Address): string {
  return p.name || p.email || p.phone || ''
}

function addressOf(text: string, name?: string): Address {
  const to = isPhone(text) ? { email: '', phone: digits(text) } : { email: text }
  return name ? { ...to, name } : to
}

/**
 * The addresses and phone numbers of a text such as `Ada <ada@x.org>; "Byron, George" <g@y.org>, bob@z.org`, in
 * order. Text that does not look like an address is returned as typed.
 */
export function addressesOf(text: string): Address[] {
  return split(text).flatMap((part) => {
    const named = /^(.*?)<\s*([^<>]*?)\s*>$/s.exec(part)
    if (named) {
      const name = unquote(named[1]!.trim())
      return [addressOf(named[2]!, name)]
    }
    // Without brackets a space separates, if there are addresses on both sides.
    const words = part.split(/\s+/)
    return words.length > 1 && words.every(isAddress) ? words.map((email) => ({ email })) : [addressOf(part)]
  })
}

/** Splits at commas, semicolons and line ends that are neither quoted nor in brackets. */
function split(text: string): string[] {
  const parts: string[] = []
  let part = ''
  let quoted = false
  let bracket = false
  for (const c of text) {
    if (c === '"') quoted = !quoted
    if (!quoted && (c === '<' || c === '>')) bracket = c === '<'
    if (!quoted && !bracket && /[,;\n\r\t，；、]/.test(c)) {
      parts.push(part)
      part = ''
    } else {
      part += c
    }
  }
  return [...parts, part].map((p) => p.trim()).filter(Boolean)
}

function unquote(name: string): string {
  return name.replace(/^"(.*)"$/s, '$1').replaceAll('\\"', '"').trim()
}
