// Server-sent events over fetch: an EventSource cannot send a token.

const silentFor = 40_000 // the server sends a heartbeat every 15 seconds

/**
 * Listens until the stream ends or fails, and calls `heard` with the name of each event. It resolves
 * in either case.
 */
export async function listen(path: string, token: string, heard: (event: string) => void, stop: AbortSignal): Promise<void> {
  const silence = new AbortController()
  const signal = AbortSignal.any([stop, silence.signal])
  let timer = setTimeout(() => silence.abort(), silentFor)
  try {
    const answer = await fetch(path, { headers: { Authorization: `Bearer ${token}`, Accept: 'text/event-stream' }, signal })
    if (!answer.ok || !answer.body) return
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), silentFor)
      const lines = (rest + value).split('\n')
      rest = lines.pop()!
      for (const line of lines) if (line.startsWith('event: ')) heard(line.slice(7))
    }
  } catch {
    // The connection is lost, or no longer needed.
  } finally {
    clearTimeout(timer)
  }
}
