export default {
  now: {
    button: 'Room now',
    choose: 'Choose a room and a length',
    title: 'A room now',
    meeting: (name: string) => `${name}’s meeting`,
    booked: (room: string, until: string) => `${room} booked until ${until}`,
    isBooked: (room: string) => `${room} is booked`,
    until: (time: string) => `until ${time}`,
    otherRoom: 'Another room',
    none: 'No room is free now.',
    soonest: 'No room is free now. The next ones:',
    details: 'Details',
  },
  find: {
    why: {
      favorite: 'Your favorite',
      recent: (ago: string) => `You used it ${ago}`,
      fits: (persons: number, seats: number) => `Fits ${persons} of ${seats} seats`,
      has: (feature: string) => `Has ${feature}`,
      floor: (floor: string) => `Same floor: ${floor}`,
    },
  },
}
