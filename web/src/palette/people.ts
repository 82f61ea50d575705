import { api, ask, type PersonRef } from '../lib/api/client'
import { session } from '../lib/session.svelte'
import { isAddress } from '../meeting/addresses'

/** Who a name means, and the words after it that belong to something else. */
export interface Found {
  /** null: nobody; 'me': the user, who takes part anyway. */
  person: PersonRef | 'me' | null
  rest: string
}

const known = new Map<string, Promise<PersonRef[]>>()
const longest = 3 // words of a name

function search(q: string): Promise<PersonRef[]> {
  let found = known.get(q)
  if (!found) {
    found = ask(api.GET('/people', { params: { query: { q } } })).then((a) => a.items)
    found.catch(() => known.delete(q))
    known.set(q, found)
  }
  return found
}

/** Reports whether each word begins one of the user's name, as in the search for others. */
function isMe(words: string[]): boolean {
  const mine = (session.user?.name ?? '').toLowerCase().split(/[\s-]+/)
  return words.every((word) => mine.some((m) => m.startsWith(word.toLowerCase())))
}

/** Finds the person whose name the text begins with: the most words that anyone has, and of several people the one met most often. */
export async function findPerson(text: string): Promise<Found> {
  if (isAddress(text)) return { person: { email: text, name: '', user_id: null }, rest: '' }
  const words = text.split(/\s+/)
  for (let n = Math.min(longest, words.length); n > 0; n--) {
    const [person] = await search(words.slice(0, n).join(' '))
    if (person) return { person, rest: words.slice(n).join(' ') }
    if (isMe(words.slice(0, n))) return { person: 'me', rest: words.slice(n).join(' ') }
  }
  return { person: null, rest: '' }
}
