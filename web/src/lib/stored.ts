// Choices that this browser keeps for the user. Without storage they last until the page is closed.

/** Returns a stored choice; null if there is none. */
export function stored(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

/** Stores a choice; "" removes it. */
export function store(key: string, value: string) {
  try {
    if (value) localStorage.setItem(key, value)
    else localStorage.removeItem(key)
  } catch {
    // Without storage it lasts until the page is closed.
  }
}
