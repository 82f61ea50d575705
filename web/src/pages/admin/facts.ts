/** One thing about something, in words: what a person compares. */
export interface Fact {
  label: string
  text: string
}
