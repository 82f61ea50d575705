import type { Dictionary } from '../en'

export default {
  decide: {
    title: '待审批',
    none: '没有待审批的申请',
    noneText: '由您负责的会议室的申请会显示在这里。',
    asked: (who, ago) => `${who} ${ago}申请`,
    expires: (when) => `${when}自动拒绝`,
  },
} satisfies Pick<Dictionary, 'decide'>
