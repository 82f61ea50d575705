// Numbers as people write them in a sentence: "2", "two", "zwei", "两".

const words: Record<string, number> = {}
const add = (list: string) => list.split(' ').forEach((names, i) => names.split('/').forEach((name) => (words[name] = i)))
add('zero one two three four five six seven eight nine ten eleven twelve')
add('null ein/eins/eine/einen/einer/einem zwei/zwo drei vier fünf/fuenf sechs sieben acht neun zehn elf zwölf/zwoelf')
Object.assign(words, { a: 1, an: 1, fifteen: 15, twenty: 20, thirty: 30, fünfzehn: 15, zwanzig: 20, dreißig: 30 })

const han = '零一二三四五六七八九'

/** A pattern of a number in digits or words, without a group of its own. */
export const number = `(?:\\d+|[零一二两三四五六七八九十]+|${Object.keys(words).sort((a, b) => b.length - a.length).join('|')})`

/** Returns the value of a number in digits or words; NaN if it is none. */
export function valueOf(text: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  const value = words[text.toLowerCase()]
  if (value !== undefined) return value
  const [, tens, ten, ones] = /^([一二两三四五六七八九]?)(十?)([零一二两三四五六七八九]?)$/.exec(text) ?? []
  if (!tens && !ten && !ones) return NaN
  const digit = (c: string | undefined) => (c === '两' ? 2 : Math.max(0, han.indexOf(c || '零')))
  if (!ten) return tens && ones ? NaN : digit(tens || ones)
  return (tens ? digit(tens) : 1) * 10 + digit(ones)
}
