/** The figures of a reason as the language writes them; what it has not is empty. */
export interface Figures {
  room: string
  limit: string
  actual: string
  used: string
  per: string
  span: string
  reason: string
  feature: string
  /** The figures are dates and not lengths of time. */
  dated: boolean
}

const room = (w: Figures, otherwise = 'The room') => w.room || otherwise

export default {
  // Why a room cannot be had, or which rule is broken, by the API's code.
  reason: {
    room_conflict: (w) => (w.span ? `Taken ${w.span}` : 'Taken'),
    features: (w) => `Has no ${w.feature}`,
    no_time_to_decide: () => 'It begins too soon for anybody to approve it.',
    capacity: (w) => `${room(w)} has ${w.limit} seats, not ${w.actual}.`,
    room_inactive: (w) => `${room(w)} takes no bookings at present.`,
    opening_hours: (w) => `${room(w)} is not open all that time: ${w.limit}.`,
    blackout: (w) => `${room(w)} is closed ${w.span}${w.reason ? ` (${w.reason})` : ''}.`,
    min_duration: (w) => `${room(w)} is booked for ${w.limit} or longer, not for ${w.actual}.`,
    max_duration: (w) => (w.room ? `${w.room} is booked for at most ${w.limit}, not for ${w.actual}.` : `A meeting lasts at most ${w.limit}, not ${w.actual}.`),
    step: (w) => `${room(w)} is booked in steps of ${w.limit}; ${w.actual} is in between.`,
    min_notice: (w) => `${room(w)} is booked at least ${w.limit} ahead, and this is in ${w.actual}.`,
    max_advance: (w) =>
      w.dated
        ? `Rooms are booked until ${w.limit} at the latest, not until ${w.actual}.`
        : `${w.room ? `${w.room} is` : 'Rooms are'} booked at most ${w.limit} ahead, and this is in ${w.actual}.`,
    quota: (w) => `You may book ${w.room || 'this room'} at most ${w.limit} a ${w.per}; you have ${w.used}, and with this it would be ${w.actual}.`,
    booked_ahead: (w) => `One person may book at most ${w.limit} ahead in all rooms together; you have ${w.used}, and with this it would be ${w.actual}.`,
    rooms_at_once: (w) => `One person may book at most ${w.limit} rooms at the same time; with this it would be ${w.actual}.`,
    too_many_waits: (w) => `You wait for ${w.used} meetings already; at most ${w.limit} are possible. Leave one of those places first.`,
    needs_approval: (w) => `Somebody has to approve bookings of ${w.room || 'this room'}: ask for one on the page.`,
    too_many_dates: (w) => `A series may have at most ${w.limit} dates.`,
    not_in_rule: (w) => `The first date must be one of the rule's; the next one is ${w.limit}.`,
    too_far: () => 'This reaches too many years ahead.',
    endless: () => 'The rule needs an end: COUNT or UNTIL.',
    impossible: () => 'No day fits this rule.',
    until_before_start: () => 'The end of the rule is before its start.',
    overlaps_itself: () => 'A date, including the buffers of its rooms, must end before the next one begins.',
    no_dates: () => 'No date is left.',
    sub_daily: () => 'A series recurs at most once a day.',
    unknown_part: () => 'The rule has a part that is not known.',
    invalid_part: () => 'A part of the rule cannot be read.',
    duplicate_part: () => 'A part of the rule stands there twice.',
    unsupported: () => 'The rule has a part that is not supported.',
    cancelled: () => 'Cancelled',
  } as Record<string, (w: Figures) => string>,
  periods: { day: 'day', week: 'week', month: 'month' } as Record<string, string>,
}
