export default {
  decide: {
    title: 'To decide',
    none: 'Nothing to decide',
    noneText: 'Requests for rooms that you look after appear here.',
    asked: (who: string, ago: string) => `${who} asked ${ago}`,
    expires: (when: string) => `Rejected by itself ${when}`,
  },
}
