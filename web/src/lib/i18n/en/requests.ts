export default {
  decide: {
    title: 'To decide',
    none: 'Nothing to decide',
    noneText: 'Requests for rooms that you look after appear here.',
    asked: (who: string, ago: string) => `${who} asked ${ago}`,
    expires: (when: string) => `Rejected by itself ${when}`,
    passes: (when: string) => `Approved by itself ${when}`,
    agreed: (names: string) => `${names} agreed`,
    move: 'Wanted instead',
    all: 'Select all',
    mark: (title: string) => `Select ${title}`,
    chosen: (n: number) => `${n} selected`,
    approveAll: (n: number) => `Approve ${n}`,
    rejectAll: (n: number) => `Reject ${n}`,
  },
}
