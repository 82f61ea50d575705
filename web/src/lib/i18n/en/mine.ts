export default {
  mine: {
    title: 'My meetings',
    upcoming: 'Upcoming',
    past: 'Past',
    organized: 'You organize',
    invited: 'You are invited',
    none: 'Nothing ahead',
    noneText: 'Meetings that you book or are invited to appear here.',
    nonePast: 'Nothing in the last 30 days',
    tomorrow: 'Tomorrow',
  },
}
