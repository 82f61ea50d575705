import { api, ask } from '../../lib/api/client'

/** A series with a meeting that leads to it: the next date, else the first there was; undefined if none is left. */
export async function seriesAndMeeting(id: number) {
  const state = await ask(api.GET('/series/{id}', { params: { path: { id } } }))
  const meeting = state.next[0] ?? (await ask(api.GET('/meetings', { params: { query: { series_id: id, limit: 1 } } }))).items[0]
  return { ...state, meeting: meeting?.id }
}
