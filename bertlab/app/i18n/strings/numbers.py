"""What the numbers of the window mean: for each its formula, how to read it, and where it comes from; one table.

A page asks for a row by its key (`components.explain`). Formulas are KaTeX and the same in both languages. Knows no
page and no model.
"""

from dataclasses import dataclass

_ARXIV = "https://arxiv.org/abs/"
_BERT = "Devlin et al. 2019, BERT"
_CLARK = "Clark et al. 2019, What Does BERT Look At?"


@dataclass(frozen=True)
class Number:
    """A number by name, its formula, how to read it, and the paper (with its section) that it comes from."""

    name: tuple[str, str]
    formula: str
    reading: tuple[str, str]
    source: str
    link: str


NUMBERS = {
    # what goes in
    "embedding": Number(
        ("input vector", "입력 벡터"),
        r"h^{(0)}_t=\mathrm{LayerNorm}\!\left(E^{\text{token}}_{w_t}+E^{\text{position}}_t+E^{\text{segment}}_{s_t}\right)",
        (
            "Three rows looked up in three tables, added and normalised. A single dimension means nothing by itself; "
            "compare whole rows.",
            "세 표에서 한 줄씩 찾아 더하고 정규화한 것입니다. 차원 하나에는 뜻이 없으니 줄 전체를 견주어 보세요.",
        ),
        f"{_BERT}, §3, figure 2",
        _ARXIV + "1810.04805",
    ),
    # attention
    "attention": Number(
        ("attention weight", "어텐션 가중치"),
        r"\alpha_{ij}=\frac{\exp\left(q_i\cdot k_j/\sqrt{d}\right)}{\sum_{t}\exp\left(q_i\cdot k_t/\sqrt{d}\right)}",
        (
            "How large a share piece i takes of piece j's value; the shares of a row add up to 100%. A large one says "
            "where a head reads, not why the model answers as it does.",
            "조각 i가 조각 j의 값을 가져오는 몫입니다. 한 줄을 더하면 100%입니다. 크다는 것은 헤드가 그곳을 읽는다는 "
            "뜻이지, 모델이 그렇게 답하는 까닭이라는 뜻은 아닙니다.",
        ),
        "Vaswani et al. 2017, Attention Is All You Need, §3.2.1",
        _ARXIV + "1706.03762",
    ),
    "attention_score": Number(
        ("attention score", "어텐션 점수"),
        r"s_{ij}=\frac{q_i\cdot k_j}{\sqrt{d}}",
        (
            "Before the softmax: the product of a query and a key, divided by the root of the head's size so that it "
            "does not grow with it. Only differences within a row count.",
            "소프트맥스를 씌우기 전 값입니다. 질의와 키를 곱하고, 헤드 크기의 제곱근으로 나누어 커지지 않게 합니다. "
            "한 줄 안의 차이만 뜻이 있습니다.",
        ),
        "Vaswani et al. 2017, Attention Is All You Need, §3.2.1",
        _ARXIV + "1706.03762",
    ),
    "attention_mass": Number(
        ("attention from one part to another", "한쪽에서 다른 쪽으로 가는 어텐션"),
        r"m(A\to B)=\frac{1}{|A|}\sum_{i\in A}\sum_{j\in B}\alpha_{ij}\qquad\text{even: }\frac{|B|}{T}",
        (
            "Of all that the pieces of A look at, the part that falls on B. A head that looks everywhere alike gives "
            "B's share of the input; three times that is a head that seeks B.",
            "A의 조각들이 바라보는 것 가운데 B에 닿는 몫입니다. 고루 보는 헤드라면 입력에서 B가 차지하는 비율과 같고, "
            "그 세 배라면 B를 찾아보는 헤드입니다.",
        ),
        f"{_CLARK} §3.2",
        _ARXIV + "1906.04341",
    ),
    "entropy": Number(
        ("attention entropy", "어텐션 엔트로피"),
        r"H_i=-\sum_j \alpha_{ij}\log_2\alpha_{ij}",
        (
            "How widely a piece looks, in bits: 0 when it looks at one place, log₂ T when at all T alike. Two to its "
            "power is about the number of pieces looked at.",
            "조각이 얼마나 넓게 보는지를 비트로 나타냅니다. 한 곳만 보면 0, T곳을 고루 보면 log₂ T입니다. 2의 "
            "거듭제곱으로 바꾸면 바라보는 조각 수에 가깝습니다.",
        ),
        f"{_CLARK} §3.3",
        _ARXIV + "1906.04341",
    ),
    "attention_difference": Number(
        ("difference of attention", "어텐션의 차이"),
        r"\Delta_{ij}=\alpha^{(2)}_{ij}-\alpha^{(1)}_{ij}",
        (
            "The second side less the first, in shares of attention: positive where the second looks more. A row's "
            "differences add up to 0.",
            "둘째에서 첫째를 뺀 어텐션의 몫입니다. 양수면 둘째가 더 많이 봅니다. 한 줄을 더하면 0입니다.",
        ),
        "Kovaleva et al. 2019, Revealing the Dark Secrets of BERT, §4.3",
        _ARXIV + "1908.08593",
    ),
    "js_distance": Number(
        ("distance of attention", "어텐션의 거리"),
        r"\pm\frac1T\sum_i\sqrt{\mathrm{JS}_2\left(\alpha^{(1)}_i,\alpha^{(2)}_i\right)},\quad"
        r"\mathrm{JS}_2(p,q)=\tfrac12\mathrm{KL}\left(p\,\Vert\,m\right)+\tfrac12\mathrm{KL}\left(q\,\Vert\,m\right),\;"
        r"m=\tfrac{p+q}{2}",
        (
            "How unlike a head's rows of attention are on the two sides, from 0 to 1 (the root of the Jensen-Shannon "
            "divergence in bits, averaged over rows). The sign is ours: positive where the second side looks farther "
            "away on average.",
            "두 쪽에서 헤드의 어텐션 행이 얼마나 다른지로, 0에서 1까지입니다(비트로 잰 옌센-섀넌 발산의 제곱근을 "
            "행에 걸쳐 평균). 부호는 여기서 붙였습니다. 둘째 쪽이 평균적으로 더 멀리 보면 양수입니다.",
        ),
        f"{_CLARK}, §6 (the divergence)",
        _ARXIV + "1906.04341",
    ),
    "rollout": Number(
        ("attention rollout", "어텐션 롤아웃"),
        r"\tilde A^{(l)}=\tfrac12\left(\bar A^{(l)}+I\right)\tilde A^{(l-1)}",
        (
            "Attention multiplied through the layers, half of every step staying where it is: how much of an input "
            "piece may have reached this place. It ignores what the values hold.",
            "층마다 절반은 제자리에 남긴다고 치고 어텐션을 곱해 올라간 값입니다. 입력 조각이 이곳에 얼마나 닿을 수 "
            "있었는지를 보입니다. 값 벡터의 내용은 보지 않습니다.",
        ),
        "Abnar and Zuidema 2020, Quantifying Attention Flow, §3",
        _ARXIV + "2005.00928",
    ),
    # what it says
    "mask_probability": Number(
        ("probability of a word behind a mask", "빈칸 낱말의 확률"),
        r"p(w\mid t)=\frac{\exp\left(e_w\cdot g(h_t)+b_w\right)}{\sum_{v\in V}\exp\left(e_v\cdot g(h_t)+b_v\right)}",
        (
            "The whole vocabulary shares 100%, so 30% is a great deal. Each mask is judged by itself, the others "
            "still hidden.",
            "어휘 전체가 100%를 나누어 가지므로 30%도 큰 값입니다. 빈칸은 다른 빈칸이 가려진 채로 하나씩 따로 봅니다.",
        ),
        f"{_BERT}, §3.1, task 1",
        _ARXIV + "1810.04805",
    ),
    "nsp_probability": Number(
        ("probability that B follows A", "B가 A에 이어질 확률"),
        r"p(\text{IsNext})=\mathrm{softmax}\left(W\tanh(W_p h_{[\mathrm{CLS}]}+b_p)+b\right)_0",
        (
            "It was trained on true neighbours and on sentences from other texts, half of each. It notices a change of "
            "subject much better than a wrong turn within one.",
            "진짜 이웃 문장과 다른 글의 문장을 반씩 보고 배웠습니다. 이야기가 바뀐 것은 잘 알아채지만 같은 이야기 "
            "안에서 어긋난 것은 잘 모릅니다.",
        ),
        f"{_BERT}, §3.1, task 2",
        _ARXIV + "1810.04805",
    ),
    "rank": Number(
        ("rank of a word", "낱말의 순위"),
        r"\mathrm{rank}(w)=1+\left|\{v\in V: p(v)>p(w)\}\right|",
        (
            "1 is the model's first choice. A rank falls long before a probability becomes visible, so it shows early "
            "what a layer is heading for.",
            "1이면 모델이 가장 먼저 고르는 낱말입니다. 확률이 눈에 띄기 훨씬 전에 순위가 먼저 움직이므로 층이 어디로 "
            "가는지 일찍 보입니다.",
        ),
        "nostalgebraist 2020, Interpreting GPT: the logit lens",
        "https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens",
    ),
    "depth_probability": Number(
        ("probability at a layer", "층에서 읽은 확률"),
        r"p_l(w\mid t)=\mathrm{softmax}\left(E\,g(h^{(l)}_t)+b\right)_w",
        (
            "What the last layer's output would say if it were put on layer l. The head never learnt to read the "
            "middle layers, so a small value early on does not mean that the layer knows nothing.",
            "마지막 층의 출력층을 l층에 대어 본 값입니다. 출력층은 중간 층을 읽도록 배운 적이 없으므로, 앞에서 값이 "
            "작다고 그 층이 아무것도 모른다는 뜻은 아닙니다.",
        ),
        "nostalgebraist 2020, Interpreting GPT: the logit lens",
        "https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens",
    ),
    "joint_probability": Number(
        ("probability of several masks together", "여러 빈칸을 함께 채울 확률"),
        r"\log p(w_1,\dots,w_m)\approx\sum_{k}\log p\left(w_k\mid w_{<k},\text{text}\right)",
        (
            "The masks are filled one after another, each seeing the words put in before. The order matters a little, "
            "since BERT was not trained to write.",
            "빈칸을 차례로 채우며, 앞에서 넣은 낱말을 보고 다음을 고릅니다. BERT는 글을 쓰도록 배우지 않았으므로 "
            "순서에 따라 값이 조금 달라집니다.",
        ),
        "Wang and Cho 2019, BERT has a Mouth, and It Must Speak, §3",
        _ARXIV + "1902.04094",
    ),
    "class_probability": Number(
        ("probability of a class", "분류 확률"),
        r"p(c)=\mathrm{softmax}\left(W\,h_{\text{pooled}}+b\right)_c",
        (
            "How the classes of this task share 100%. A fine-tuned model is often surer than it is right.",
            "이 과제의 분류들이 100%를 나누어 가집니다. 미세 조정한 모델은 맞는 것보다 더 자신하는 일이 많습니다.",
        ),
        f"{_BERT}, §4.1",
        _ARXIV + "1810.04805",
    ),
    "tag_probability": Number(
        ("probability of a tag", "꼬리표의 확률"),
        r"p(c\mid t)=\mathrm{softmax}\left(W h_t+b\right)_c,\quad t=\text{first piece of the word}",
        (
            "Every word gets its tag from its first piece, by itself: neighbours' tags are not looked at.",
            "낱말의 꼬리표는 첫 조각에서 따로따로 정합니다. 이웃 낱말의 꼬리표는 보지 않습니다.",
        ),
        f"{_BERT}, §5.3",
        _ARXIV + "1810.04805",
    ),
    # questions
    "start_end": Number(
        ("probability of a start and of an end", "시작과 끝의 확률"),
        r"P_i=\frac{e^{S\cdot T_i}}{\sum_j e^{S\cdot T_j}}\qquad Q_i=\frac{e^{E\cdot T_i}}{\sum_j e^{E\cdot T_j}}",
        (
            "Two curves over the pieces of a window, [CLS] included, each adding up to 100%. They are worked out "
            "apart: a high start does not know of the end.",
            "창의 조각들([CLS] 포함)에 걸친 두 곡선이며 저마다 더하면 100%입니다. 따로 계산하므로 시작은 끝을 "
            "모릅니다.",
        ),
        f"{_BERT}, §4.2",
        _ARXIV + "1810.04805",
    ),
    "span_score": Number(
        ("score of a span", "답의 점수"),
        r"s_{ij}=S\cdot T_i+E\cdot T_j,\quad i\le j",
        (
            "How strongly the first piece says *start* plus how strongly the last says *end*. No scale of its own: "
            "compare it with the other spans and with *no answer*.",
            "첫 조각의 시작 로짓과 끝 조각의 끝 로짓을 더한 값입니다. 값 자체에는 눈금이 없으니 다른 답, 그리고 *답 "
            "없음*과 견주어 보세요.",
        ),
        f"{_BERT}, §4.2",
        _ARXIV + "1810.04805",
    ),
    "answer_probability": Number(
        ("probability of an answer", "답의 확률"),
        r"p_k=\frac{e^{s_k}}{e^{s_{\text{null}}}+\sum_{n=1}^{20}e^{s_n}}",
        (
            "A softmax over the twenty best spans and *no answer*. Overlapping spans share it: a good answer in two "
            "versions halves each.",
            "가장 나은 답 스무 개와 *답 없음*에 씌운 소프트맥스입니다. 겹치는 답끼리 나누어 가지므로, 같은 답이 두 "
            "꼴이면 저마다 반이 됩니다.",
        ),
        "google-research/bert, run_squad.py (n_best_size = 20)",
        "https://github.com/google-research/bert/blob/master/run_squad.py",
    ),
    "no_answer": Number(
        ("no-answer score", "답 없음 점수"),
        r"s_{\text{null}}=\min_{\text{windows}}\left(S\cdot C+E\cdot C\right)",
        (
            "The score of pointing at [CLS], which stands for *no answer*. Of several windows the lowest counts: one "
            "window that sees an answer is enough.",
            "*답 없음*을 뜻하는 [CLS]를 가리키는 점수입니다. 창이 여럿이면 가장 낮은 것을 씁니다. 한 창에서라도 답이 "
            "보이면 되기 때문입니다.",
        ),
        f"{_BERT}, §4.3",
        _ARXIV + "1810.04805",
    ),
    "tau": Number(
        ("threshold τ", "문턱값 τ"),
        r"\text{answer}\iff \hat s_{ij}>s_{\text{null}}+\tau'\iff s_{\text{null}}-\hat s_{ij}<\tau\quad(\tau=-\tau')",
        (
            "How far *no answer* may lie above the best span before the model keeps silent. A higher τ answers more "
            "often. It is chosen on the dev set, for the best F1 (KLUE-MRC: ROUGE-W).",
            "*답 없음*이 가장 나은 답보다 얼마나 높아야 모델이 입을 다무는지입니다. τ가 클수록 더 자주 답합니다. "
            "개발 집합에서 F1(KLUE-MRC는 ROUGE-W)이 가장 좋은 값으로 고릅니다.",
        ),
        f"{_BERT}, §4.3",
        _ARXIV + "1810.04805",
    ),
    # changes
    "knockout": Number(
        ("effect of a head, in log-odds", "헤드의 효과(로그 오즈)"),
        r"\Delta=\ln\frac{p'}{1-p'}-\ln\frac{p}{1-p}\qquad p':\ \text{with the head's output set to }0",
        (
            "How the odds of the prediction change when the head is knocked out: −0.7 halves the odds, +0.7 doubles "
            "them. Unlike a difference of probabilities it does not shrink near 0 and 1.",
            "헤드를 껐을 때 예측의 오즈가 얼마나 달라지는지입니다. −0.7이면 반, +0.7이면 두 배입니다. 확률의 차와 달리 "
            "0이나 1 가까이에서 줄어들지 않습니다.",
        ),
        "Michel et al. 2019, Are Sixteen Heads Really Better than One?, §2.2",
        _ARXIV + "1905.10650",
    ),
    "word_effect": Number(
        ("effect of a word, in log-odds", "낱말의 효과(로그 오즈)"),
        r"\Delta_w=\ln\frac{p}{1-p}-\ln\frac{p_{\setminus w}}{1-p_{\setminus w}}",
        (
            "What the prediction loses when the word is hidden behind [MASK]. Positive words speak for it, negative "
            "ones against it.",
            "낱말을 [MASK]로 가렸을 때 예측이 잃는 것입니다. 양수면 예측을 돕는 낱말, 음수면 막는 낱말입니다.",
        ),
        "Li et al. 2016, Understanding Neural Networks through Representation Erasure, §3",
        _ARXIV + "1612.08220",
    ),
    "word_effect_value": Number(
        ("effect of a word, as a difference of values", "낱말의 효과(값의 차)"),
        r"\Delta_w=v-v_{\setminus w}",
        (
            "What the value loses when the word is hidden behind [MASK], on the value's own scale. Positive words "
            "raise it, negative ones lower it.",
            "낱말을 [MASK]로 가렸을 때 값이 줄어드는 만큼이며, 눈금은 값의 눈금 그대로입니다. 양수면 값을 올리는 낱말, "
            "음수면 내리는 낱말입니다.",
        ),
        "Li et al. 2016, Understanding Neural Networks through Representation Erasure, §3",
        _ARXIV + "1612.08220",
    ),
    "patch": Number(
        ("effect of a patched state", "바꿔 넣은 상태의 효과"),
        r"\Delta=\operatorname{logit}p\left(h_t\leftarrow\tilde h_t\right)-\operatorname{logit}p",
        (
            "One hidden vector is taken from another sentence. If the prediction follows it, what matters was held in "
            "that place at that layer.",
            "은닉 벡터 하나를 다른 문장에서 가져옵니다. 예측이 그것을 따라가면, 중요한 것이 그 층의 그 자리에 있었다는 "
            "뜻입니다.",
        ),
        "Vig et al. 2020, Investigating Gender Bias ... Causal Mediation Analysis, §3",
        _ARXIV + "2004.12265",
    ),
    "cka": Number(
        ("linear CKA", "선형 CKA"),
        r"\mathrm{CKA}(X,Y)=\frac{\lVert Y^\top X\rVert_F^2}{\lVert X^\top X\rVert_F\,\lVert Y^\top Y\rVert_F}"
        r"\quad(X,Y\text{ centred})",
        (
            "Whether two sets of vectors arrange the same tokens alike, whatever the directions: 1 is the same up to "
            "rotation and scale. With few tokens it is always high.",
            "두 벡터 묶음이 같은 토큰을 비슷하게 늘어놓는지입니다. 방향은 상관없습니다. 1이면 돌리거나 늘이면 "
            "같습니다. 토큰이 적으면 늘 높게 나옵니다.",
        ),
        "Kornblith et al. 2019, Similarity of Neural Network Representations Revisited, §3",
        _ARXIV + "1905.00414",
    ),
    "cosine_drift": Number(
        ("cosine drift", "코사인 이동"),
        r"d_t=1-\frac{h_t\cdot h'_t}{\lVert h_t\rVert\,\lVert h'_t\rVert}",
        (
            "How far a token's vector has turned: 0 not at all, 1 to a right angle. Vectors of BERT all point a little "
            "the same way, so even unrelated ones stay below 1.",
            "토큰의 벡터가 얼마나 돌아갔는지입니다. 0이면 그대로, 1이면 직각입니다. BERT의 벡터는 모두 조금씩 같은 "
            "쪽을 보므로, 상관없는 것끼리도 1보다 작습니다.",
        ),
        "Ethayarajh 2019, How Contextual are Contextualized Word Representations?, §3",
        _ARXIV + "1909.00512",
    ),
    # measures
    "masked_accuracy": Number(
        ("masked accuracy", "빈칸 정답률"),
        r"\frac{1}{|M|}\sum_{t\in M}\mathbf 1\left[\arg\max_w p(w\mid t)=w_t\right]",
        (
            "The share of hidden pieces whose first guess is right, on text it never read, 15% hidden. Two words that "
            "fit alike count as one right and one wrong, so 100% is out of reach.",
            "읽은 적 없는 글에서 15%를 가리고, 첫 번째 추측이 맞은 비율입니다. 어울리는 낱말이 둘이어도 하나만 "
            "맞으므로 100%에는 이를 수 없습니다.",
        ),
        f"{_BERT}, §3.1 and appendix A.1",
        _ARXIV + "1810.04805",
    ),
    "nsp_accuracy": Number(
        ("next-sentence accuracy", "다음 문장 정답률"),
        r"\frac{1}{N}\sum_n \mathbf 1\left[\hat y_n=y_n\right]",
        (
            "The share of pairs told right. Half of them are true neighbours, so guessing gives 50%.",
            "짝을 바르게 가려낸 비율입니다. 반이 진짜 이웃이므로 찍어도 50%입니다.",
        ),
        f"{_BERT}, §3.1, task 2",
        _ARXIV + "1810.04805",
    ),
    "order_accuracy": Number(
        ("sentence-order accuracy", "문장 순서 정답률"),
        r"\frac{1}{N}\sum_n \mathbf 1\left[\hat y_n=y_n\right]",
        (
            "The share of pairs told right: two neighbouring passages, in their order or swapped. Half are swapped, so "
            "guessing gives 50%. The topic gives nothing away, so it is harder than the next sentence.",
            "이웃한 두 글이 제 순서인지 뒤바뀌었는지 바르게 가려낸 비율입니다. 반이 뒤바뀐 것이므로 찍어도 50%입니다. "
            "주제로는 알 수 없어 다음 문장보다 어렵습니다.",
        ),
        "Lan et al. 2020, ALBERT, §3.1",
        _ARXIV + "1909.11942",
    ),
    "error": Number(
        ("mean distance from the value", "정답 값과의 평균 차이"),
        r"\mathrm{MAE}=\frac{1}{N}\sum_n\left|\hat y_n-y_n\right|",
        (
            "How far the values are off, in the unit of the data. Compare it with always saying the mean.",
            "값이 정답에서 평균 얼마나 벗어나는지, 데이터의 단위로 잰 것입니다. 늘 평균만 말했을 때와 견주어 보세요.",
        ),
        "Willmott and Matsuura 2005, Advantages of the mean absolute error",
        "https://doi.org/10.3354/cr030079",
    ),
    "loss": Number(
        ("loss", "손실"),
        r"\mathcal L=-\frac{1}{|M|}\sum_{t\in M}\ln p(w_t\mid t)\;\left(-\frac1N\sum_n\ln p(y_n)\right)",
        (
            "The surprise at the right answers, in nats, which training makes small. Guessing evenly among V pieces "
            "gives ln V: about 9 for 8,000.",
            "정답을 보고 놀란 정도(내트)이며, 학습은 이것을 줄입니다. V개 조각을 고루 찍으면 ln V로, 8천 개면 약 "
            "9입니다.",
        ),
        f"{_BERT}, appendix A.2",
        _ARXIV + "1810.04805",
    ),
    "bits_per_character": Number(
        ("bits per character", "글자당 비트"),
        r"\mathrm{bpc}=\frac{\mathcal L_{\text{MLM}}}{\ln 2}\cdot\frac{\text{tokens}}{\text{characters}}",
        (
            "The surprise at a hidden piece, spread over its letters, so that models with other vocabularies can be "
            "compared. Smaller is better. BERT sees both sides, so it is no measure of a left-to-right model.",
            "가려진 조각에 놀란 정도를 글자 수로 나누어, 어휘가 다른 모델끼리도 견줄 수 있게 한 값입니다. 작을수록 "
            "좋습니다. BERT는 양쪽을 다 보므로 왼쪽부터 읽는 모델과는 견줄 수 없습니다.",
        ),
        "Mielke 2019, Can you compare perplexity across different segmentations?",
        "https://sjmielke.com/comparing-perplexities.htm",
    ),
    "exact_match": Number(
        ("exact match", "완전 일치"),
        r"\mathrm{EM}=\frac{1}{N}\sum_n \mathbf 1\left[\exists g\in G_n: \mathrm{norm}(a_n)=\mathrm{norm}(g)\right]",
        (
            "The share of answers that equal one of the given ones letter for letter, once case, articles and "
            "punctuation are taken away.",
            "대소문자와 관사, 문장 부호를 떼어 낸 뒤 주어진 답 가운데 하나와 글자까지 같은 비율입니다.",
        ),
        "Rajpurkar et al. 2016, SQuAD, §6.1",
        _ARXIV + "1606.05250",
    ),
    "f1": Number(
        ("F1 of an answer", "답의 F1"),
        r"F_1=\frac{2PR}{P+R},\quad P=\frac{|a\cap g|}{|a|},\;R=\frac{|a\cap g|}{|g|}",
        (
            "How many words an answer shares with the given one, both ways; the best of the given answers counts, then "
            "the mean over questions.",
            "답과 정답이 나누어 가진 낱말을 양쪽에서 잰 값입니다. 정답이 여럿이면 가장 좋은 것을 쓰고, 질문 전체를 "
            "평균합니다.",
        ),
        "Rajpurkar et al. 2016, SQuAD, §6.1",
        _ARXIV + "1606.05250",
    ),
    "rouge_w": Number(
        ("ROUGE-W", "ROUGE-W"),
        r"F_1=\frac{2PR}{P+R},\quad P=\frac{|r|}{|a|},\;R=\frac{|r|}{|g|},\;r=\text{longest run of characters in both}",
        (
            "How long the longest run of characters is that an answer shares with the given one, both ways; the best "
            "of the given answers counts, then the mean over questions. KLUE-MRC measures so.",
            "답과 정답이 함께 가진 가장 긴 글자열을 양쪽에서 잰 값입니다. 정답이 여럿이면 가장 좋은 것을 쓰고, 질문 "
            "전체를 평균합니다. KLUE-MRC가 이렇게 잽니다.",
        ),
        "Park et al. 2021, KLUE, §3.7",
        _ARXIV + "2105.09680",
    ),
    "accuracy": Number(
        ("accuracy", "정확도"),
        r"\frac{1}{N}\sum_n \mathbf 1\left[\hat y_n=y_n\right]",
        (
            "The share of examples that are right. Compare it with always saying the most frequent class.",
            "맞힌 비율입니다. 가장 흔한 분류만 말했을 때의 값과 견주어 보세요.",
        ),
        "Wang et al. 2019, GLUE, §3",
        _ARXIV + "1804.07461",
    ),
    "f1_class": Number(
        ("F1 of a class", "분류의 F1"),
        r"F_1=\frac{2\,TP}{2\,TP+FP+FN}",
        (
            "Right ones of the class against false alarms and misses; true negatives do not count, so it suits a rare "
            "class.",
            "맞힌 것을 잘못 짚은 것과 놓친 것에 견준 값입니다. 바르게 버린 것은 세지 않으므로 드문 분류에 알맞습니다.",
        ),
        "Wang et al. 2019, GLUE, §3.2",
        _ARXIV + "1804.07461",
    ),
    "f1_entity": Number(
        ("F1 of entities", "개체명 F1"),
        r"F_1=\frac{2PR}{P+R}\quad\text{over whole entities: type, first and last word}",
        (
            "An entity counts only if its kind and both its ends are right; half an entity is none.",
            "종류와 양 끝이 모두 맞아야 하나로 셉니다. 반만 맞은 개체는 세지 않습니다.",
        ),
        "Tjong Kim Sang and De Meulder 2003, CoNLL-2003 shared task, §2",
        "https://aclanthology.org/W03-0419/",
    ),
    "right_probability": Number(
        ("probability of the right answer", "정답의 확률"),
        r"p(y\mid x)=\mathrm{softmax}\!\left(C W^{\top}\right)_{y},\qquad \text{loss}=-\ln p(y\mid x)",
        (
            "How probable the model found what the data gives. The lower, the harder the example: a wrong answer said "
            "with confidence comes first. Some of the hardest are mistakes in the data. Of a tagged sentence it is the "
            "lowest of its words; of a question, the share of the given answers among the best spans.",
            "데이터에 적힌 정답을 모델이 얼마나 그럴듯하게 여겼는지입니다. 낮을수록 어려운 예이고, 자신 있게 틀린 것이 "
            "맨 앞에 옵니다. 가장 어려운 것 가운데는 데이터가 틀린 것도 있습니다. 꼬리표를 단 문장은 가장 낮은 낱말의 "
            "값, 질문은 좋은 답 후보 가운데 정답이 차지하는 몫입니다.",
        ),
        f"{_BERT}, §4.1",
        _ARXIV + "1810.04805",
    ),
    "confusion": Number(
        ("confusion matrix", "혼동 행렬"),
        r"C_{gs}=\sum_n \mathbf 1\left[y_n=g\wedge\hat y_n=s\right],\qquad \text{share}=C_{gs}\Big/\sum_{s'}C_{gs'}",
        (
            "Each row is what the data gives, each column what the model says. The diagonal is right; a bright cell "
            "beside it is a habit of the model. Percentages are shares of a row, so a rare label is not hidden.",
            "줄은 데이터가 적어 둔 것, 칸은 모델이 말한 것입니다. 대각선이 맞힌 것이고, 그 밖에 짙은 칸은 모델의 "
            "버릇입니다. 백분율은 줄 안의 몫이라 드문 것도 묻히지 않습니다.",
        ),
        "Manning et al. 2008, Introduction to Information Retrieval, §14.5",
        "https://nlp.stanford.edu/IR-book/html/htmledition/classification-with-more-than-two-classes-1.html",
    ),
    "mcc": Number(
        ("Matthews correlation", "매슈스 상관 계수"),
        r"\mathrm{MCC}=\frac{TP\cdot TN-FP\cdot FN}{\sqrt{(TP+FP)(TP+FN)(TN+FP)(TN+FN)}}",
        (
            "From −1 to 1; 0 is no better than chance, however unequal the classes are. CoLA is measured by it.",
            "−1에서 1까지이며, 분류의 수가 아무리 달라도 0이면 찍은 것과 같습니다. CoLA를 이것으로 잽니다.",
        ),
        "Warstadt et al. 2019, CoLA, §4",
        _ARXIV + "1805.12471",
    ),
    "pearson": Number(
        ("Pearson correlation", "피어슨 상관 계수"),
        r"r=\frac{\sum_n(x_n-\bar x)(y_n-\bar y)}{\sqrt{\sum_n(x_n-\bar x)^2}\sqrt{\sum_n(y_n-\bar y)^2}}",
        (
            "Whether the predictions lie on a straight line with the given values; 1 is a line that rises.",
            "예측이 주어진 값과 한 직선 위에 놓이는지입니다. 1이면 오르는 직선입니다.",
        ),
        "Cer et al. 2017, SemEval task 1 (STS-B), §6",
        _ARXIV + "1708.00055",
    ),
    "spearman": Number(
        ("Spearman correlation", "스피어만 상관 계수"),
        r"\rho=r\left(\mathrm{rank}(x),\mathrm{rank}(y)\right)",
        (
            "Pearson's correlation of the ranks: whether the order is right, whatever the scale.",
            "순위끼리의 피어슨 상관입니다. 눈금과 상관없이 순서가 맞는지를 봅니다.",
        ),
        "Wang et al. 2019, GLUE, §3.2",
        _ARXIV + "1804.07461",
    ),
}

STRINGS = {"number.source": ("From", "출처")}
STRINGS |= {f"number.{key}": number.name for key, number in NUMBERS.items()}
STRINGS |= {f"number.{key}.reading": number.reading for key, number in NUMBERS.items()}
